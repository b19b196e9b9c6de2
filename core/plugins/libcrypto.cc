#include "core/plugins/libcrypto.h"

#include <array>
#include <cstddef>
#include <memory>

#include "core/base/status.h"
#include "core/plugins/system_library.h"

namespace feedmill {
namespace {

// Functions of libcrypto 1.1 and 3. Their types are opaque here.
struct Libcrypto {
  void* (*new_memory)(const void* bytes, int size);  // BIO_new_mem_buf
  int (*free_memory)(void* memory);                  // BIO_free
  void* (*read_key)(void* memory, void** into, void* ask, void* state);
  void (*free_key)(void* key);  // EVP_PKEY_free
  void* (*new_context)();       // EVP_MD_CTX_new
  void (*free_context)(void* context);
  const void* (*sha256)();
  int (*begin)(void* context, void** key_context, const void* digest,
               void* engine, void* key);  // EVP_DigestSignInit
  int (*sign)(void* context, unsigned char* signature, size_t* size,
              const unsigned char* text, size_t text_size);
  unsigned char* (*hmac)(const void* digest, const void* key, int key_size,
                         const unsigned char* text, size_t text_size,
                         unsigned char* code, unsigned* code_size);  // HMAC
};

absl::StatusOr<const Libcrypto*> LoadLibcrypto() {
  static Libcrypto library;
  static const absl::Status loaded = [] {
    const SystemLibrary found{"libcrypto.so.3", "libcrypto.so.1.1"};
    if (!found.loaded()) {
      return FailedPrecondition(
          "signatures of keys need the library libcrypto.so.3, of Debian's "
          "package libssl3");
    }
    const bool whole =
        found.Find("BIO_new_mem_buf", library.new_memory) &&
        found.Find("BIO_free", library.free_memory) &&
        found.Find("PEM_read_bio_PrivateKey", library.read_key) &&
        found.Find("EVP_PKEY_free", library.free_key) &&
        found.Find("EVP_MD_CTX_new", library.new_context) &&
        found.Find("EVP_MD_CTX_free", library.free_context) &&
        found.Find("EVP_sha256", library.sha256) &&
        found.Find("EVP_DigestSignInit", library.begin) &&
        found.Find("EVP_DigestSign", library.sign) &&
        found.Find("HMAC", library.hmac);
    return whole ? absl::OkStatus()
                 : FailedPrecondition("libcrypto lacks functions of OpenSSL");
  }();
  FM_RETURN_IF_ERROR(loaded);
  return &library;
}

}  // namespace

absl::StatusOr<std::string> SignRs256(std::string_view key,
                                      std::string_view text) {
  FM_ASSIGN_OR_RETURN(const Libcrypto* const library, LoadLibcrypto());
  const std::unique_ptr<void, int (*)(void*)> memory(
      library->new_memory(key.data(), static_cast<int>(key.size())),
      library->free_memory);
  // "" answers a question for a password: the library would ask the terminal.
  char no_password[] = "";
  const std::unique_ptr<void, void (*)(void*)> read(
      library->read_key(memory.get(), nullptr, nullptr, no_password),
      library->free_key);
  if (read == nullptr) return InvalidArgument("it is no private key in PEM");
  const std::unique_ptr<void, void (*)(void*)> context(library->new_context(),
                                                       library->free_context);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  std::string signature;
  if (library->begin(context.get(), nullptr, library->sha256(), nullptr,
                     read.get()) == 1 &&
      library->sign(context.get(), nullptr, &size, bytes, text.size()) == 1) {
    signature.resize(size);
    if (library->sign(context.get(),
                      reinterpret_cast<unsigned char*>(signature.data()), &size,
                      bytes, text.size()) == 1) {
      signature.resize(size);
      return signature;
    }
  }
  return InvalidArgument("the private key cannot sign with SHA-256");
}

absl::StatusOr<std::string> HmacSha256(std::string_view key,
                                       std::string_view text) {
  FM_ASSIGN_OR_RETURN(const Libcrypto* const library, LoadLibcrypto());
  std::array<unsigned char, 32> code{};
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (library->hmac(library->sha256(), key.data(), static_cast<int>(key.size()),
                    bytes, text.size(), code.data(), &size) == nullptr) {
    return InvalidArgument("the key cannot sign with HMAC and SHA-256");
  }
  return std::string(code.begin(), code.end());
}

}  // namespace feedmill
