#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/process/certificate_authorities.h"
#include "core/process/thread_limit.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

// Runs `test` in a new process with the soft limit set, and expects that it
// returns true.
template <class F>
void WithLimit(__rlimit_resource resource, rlim_t value, F&& test) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{value, value};
    _exit(setrlimit(resource, &limit) == 0 && test() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

std::string TextOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

size_t ThreadCount() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Address space used by this process now.
rlim_t AddressSpace() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

TEST(CheckThreads, LeavesNoThread) {
  const size_t before = ThreadCount();
  for (int k = 0; k < 20; ++k) {
    ASSERT_TRUE(CheckThreads(8, "use fewer").ok());
    ASSERT_EQ(ThreadCount(), before);
  }
  EXPECT_TRUE(CheckThreads(0, "use fewer").ok());
}

TEST(CheckThreads, SaysHowManyThereAreAndWhichLimit) {
  // A thread's stack takes about 8 MiB of address space.
  WithLimit(RLIMIT_AS, AddressSpace() + (rlim_t{256} << 20), [] {
    const absl::Status status = CheckThreads(1'000, "use fewer (--threads)");
    return status.code() == absl::StatusCode::kResourceExhausted &&
           TextOf(status).find("1000 threads are needed") !=
               std::string::npos &&
           TextOf(status).find("ulimit -v: ") != std::string::npos &&
           TextOf(status).find("--threads") != std::string::npos;
  });
}

TEST(WriteError, NamesTheLimitOfAFile) {
  EXPECT_EQ(WriteErrorText(ENOSPC), "No space left on device");
  EXPECT_EQ(WriteErrorText(EFBIG), "File too large");
  WithLimit(RLIMIT_FSIZE, 64 << 10, [] {
    return WriteErrorText(EFBIG) ==
               "File too large: the limit is 64.0 KiB a file (ulimit -f)" &&
           MayWriteFile(64 << 10) && !MayWriteFile((64 << 10) + 1);
  });
  EXPECT_TRUE(MayWriteFile(uint64_t{1} << 40));
}

class Authorities : public testing::Test {
 protected:
  Authorities() : root_(testing::TempDir() + "authorities/") {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    unsetenv("SSL_CERT_FILE");
    unsetenv("FEEDMILL_CERTIFICATES");
  }
  ~Authorities() override {
    std::filesystem::remove_all(root_);
    unsetenv("SSL_CERT_FILE");
    unsetenv("FEEDMILL_CERTIFICATES");
  }
  std::string Write(const std::string& file) {
    const std::filesystem::path path = root_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "certificates";
    return path;
  }

  const std::string root_;
};

TEST_F(Authorities, ComeFromTheSystem) {
  EXPECT_EQ(AuthoritiesFile(root_), "");
  const std::string alpine = Write("etc/ssl/cert.pem");
  EXPECT_EQ(AuthoritiesFile(root_), alpine);
  const std::string fedora =
      Write("etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem");
  EXPECT_EQ(AuthoritiesFile(root_), fedora);
  const std::string debian = Write("etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(AuthoritiesFile(root_), debian);
  setenv("SSL_CERT_FILE", "/no/such.pem", 1);
  EXPECT_EQ(AuthoritiesFile(root_), "/no/such.pem");
}

TEST_F(Authorities, ComeFromCertifiWhereTheSystemHasNone) {
  setenv("FEEDMILL_CERTIFICATES", "/no/such.pem", 1);
  EXPECT_EQ(AuthoritiesFile(root_), "");
  const std::string certifi = Write("venv/certifi/cacert.pem");
  setenv("FEEDMILL_CERTIFICATES", certifi.c_str(), 1);
  EXPECT_EQ(AuthoritiesFile(root_), certifi);
  const std::string fedora = Write("etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(AuthoritiesFile(root_), fedora);
}

}  // namespace
}  // namespace feedmill
