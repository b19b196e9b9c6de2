#ifndef FEEDMILL_CORE_NET_CURL_REQUEST_H_
#define FEEDMILL_CORE_NET_CURL_REQUEST_H_

#include <curl/curl.h>

#include <memory>
#include <string>

namespace feedmill {

// Parts that each request of libcurl has. The only header that includes
// libcurl.

struct CurlListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListFree>;

struct CurlEasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, CurlEasyFree>;

// Keeps libcurl set up. Its calls are counted, and thread-safe in this libcurl.
class CurlLibrary {
 public:
  CurlLibrary() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  ~CurlLibrary() { curl_global_cleanup(); }
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
};

inline void AddHeader(const std::string& line, CurlList& headers) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  if (longer == nullptr) return;
  static_cast<void>(headers.release());  // the list's head stays the same
  headers.reset(longer);
}

// Sets the URL, the protocols, and TLS 1.2 or later with the certificate
// authorities of a file; "" for libcurl's own.
inline void SetUpRequest(const std::string& url, const std::string& authorities,
                         CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "feedmill");
  curl_easy_setopt(easy, CURLOPT_SSLVERSION,
                   static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (authorities.empty()) return;
  curl_easy_setopt(easy, CURLOPT_CAINFO, authorities.c_str());
}

// True if the server's certificate is not trusted, or this process's is not
// usable.
inline bool IsCertificateError(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM;
}

// `error`: the request's CURLOPT_ERRORBUFFER.
inline std::string ReasonOf(CURLcode code, const char* error) {
  return error[0] != '\0' ? error : curl_easy_strerror(code);
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_CURL_REQUEST_H_
