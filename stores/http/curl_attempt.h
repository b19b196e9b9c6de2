#ifndef FEEDMILL_STORES_HTTP_CURL_ATTEMPT_H_
#define FEEDMILL_STORES_HTTP_CURL_ATTEMPT_H_

#include <memory>
#include <string>

#include "core/net/curl_request.h"
#include "stores/http/transfer.h"

namespace feedmill {

// One attempt of a transfer, as a request of libcurl.
struct CurlAttempt {
  std::shared_ptr<Transfer> transfer;
  CurlEasy easy;
  CurlList headers;
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
