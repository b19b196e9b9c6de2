#include "core/process/certificate_authorities.h"

#include <unistd.h>

#include <cstdlib>

namespace feedmill {
namespace {

constexpr const char* kSystemFiles[] = {
    "etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Alpine, Arch
    "etc/pki/tls/certs/ca-bundle.crt",    // Fedora to 41, RHEL
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "etc/ssl/ca-bundle.pem",                             // openSUSE
    "etc/ssl/cert.pem",                                  // Alpine without links
};

bool Readable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

}  // namespace

std::string AuthoritiesFile(const std::string& root) {
  if (const char* named = std::getenv("SSL_CERT_FILE")) return named;
  for (const char* file : kSystemFiles) {
    if (std::string path = root + file; Readable(path)) return path;
  }
  const char* fallback = std::getenv("FEEDMILL_CERTIFICATES");
  return fallback != nullptr && Readable(fallback) ? fallback : "";
}

}  // namespace feedmill
