#ifndef FEEDMILL_STORES_HTTP_CURL_ATTEMPT_H_
#define FEEDMILL_STORES_HTTP_CURL_ATTEMPT_H_

#include <curl/curl.h>

#include <memory>
#include <string>

#include "stores/http/transfer.h"

namespace feedmill {

struct CurlListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct CurlEasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

using CurlEasy = std::unique_ptr<CURL, CurlEasyFree>;

// One attempt of a transfer, as a request of libcurl.
struct CurlAttempt {
  std::shared_ptr<Transfer> transfer;
  CurlEasy easy;
  std::unique_ptr<curl_slist, CurlListFree> headers;
  std::shared_ptr<const std::string> body;  // null: none
  curl_off_t sent = 0;                      // bytes of `body`
  bool new_connection = false;              // not a kept one
  char error[CURL_ERROR_SIZE] = "";
};

// Sets the options of attempt.easy. `range` is the bytes that are asked for, as
// in a Range header; "" for all. The attempt must stay where it is.
void SetUpAttempt(const std::string& range, CurlAttempt& attempt);

// Says how an attempt ended for which libcurl gave `code`.
AttemptEnd EndOf(CURLcode code, const CurlAttempt& attempt);

// True if a request got no answer on a connection of an earlier request. The
// server may have sent bytes behind the earlier answer, and libcurl has several
// codes for what it makes of them: CURLE_OUT_OF_MEMORY for more than 100 KB.
bool MayBeFaultOfKeptConnection(const AttemptEnd& end,
                                const CurlAttempt& attempt);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_CURL_ATTEMPT_H_
