#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "server/address_file.h"
#include "tools/command/child_process.h"
#include "tools/command/element_writer.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/read_watch.h"
#include "tools/command/service_findings.h"
#include "tools/command/service_notifier.h"
#include "tools/command/status_table.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Folder {
 public:
  Folder() {
    std::string path = ::testing::TempDir() + "feedmill-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A pipe whose read end belongs to this test.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  std::string Read() {
    std::string text(size_t{1} << 16, '\0');
    const ssize_t got = read(ends_[0], text.data(), text.size());
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }

 private:
  int ends_[2];
};

Chunk Numbers(const std::vector<int64_t>& numbers) {
  ChunkBuilder builder(
      std::make_shared<ElementSpec>(ElementSpec{{{"", DType::kInt64, {}}}}));
  builder.AppendDense(0, {}, numbers.data(), numbers.size());
  builder.FinishRows(numbers.size());
  return std::move(builder).Finish();
}

// ---- exit codes and messages

TEST(ExitCode, FollowsTheCause) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(InvalidArgument("x")), 2);
  EXPECT_EQ(ExitCodeOf(NotFound("x")), 2);
  EXPECT_EQ(ExitCodeOf(DataLoss("x")), 1);
  EXPECT_EQ(ExitCodeOf(DeadlineExceeded("x")), 1);
  EXPECT_EQ(ExitCodeOf(Unavailable("x")), 1);
}

TEST(StderrText, NamesFlagsForTheOptionsThatLibrariesName) {
  EXPECT_EQ(StderrText("use `take_over`, another `job`, or each `rank`; `x`"),
            "feedmill: use --take-over, another --job, or each --consumer c/C; "
            "`x`\n");
}

TEST(StderrText, HasFiveLinesAtMostAndNoControlCharacters) {
  EXPECT_EQ(StderrText("a\nb\n"), "feedmill: a\nb\n");
  EXPECT_EQ(StderrText("1\n2\n3\n4\n5\n6\n7"), "feedmill: 1\n2\n3\n4\n5\n");
  EXPECT_EQ(StderrText("red \x1b[31m"), "feedmill: red \\x1b[31m\n");
  EXPECT_EQ(StderrText("http://u:p@h/a?b"), "feedmill: http://h/a?...\n");
}

// ---- flags

struct Parsed {
  bool on = false;
  std::string name = "here";
  std::string format = "jsonl";
  std::string file;
  uint64_t count = 7;
  absl::Duration timeout = absl::Seconds(20);
  absl::Duration pause = absl::ZeroDuration();
  uint64_t memory = uint64_t{256} << 20;
};

absl::StatusOr<Parsed> Parse(const std::vector<std::string>& words) {
  Parsed parsed;
  FlagSet flags("mow", "Mows.", "Examples: none");
  flags.Positional("FILE", "the file", &parsed.file);
  flags.Bool("--on", "on", &parsed.on);
  flags.Text("--name", "NAME", "name", &parsed.name);
  flags.OneOf("--format", {"jsonl", "none"}, "format", &parsed.format);
  flags.Count("--count", 1, 9, "count", &parsed.count);
  flags.Duration("--timeout", "time", &parsed.timeout);
  flags.Duration("--pause", "pause", &parsed.pause, absl::Seconds(2));
  flags.Bytes("--memory", "memory", &parsed.memory);
  FM_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(words));
  EXPECT_TRUE(go_on);
  return parsed;
}

std::string ParseError(const std::vector<std::string>& words) {
  const absl::StatusOr<Parsed> parsed = Parse(words);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return ErrorText(parsed.status());
}

TEST(Flags, KeepDefaultsAndTakeValues) {
  const Parsed none = *Parse({});
  EXPECT_EQ(none.name, "here");
  EXPECT_EQ(none.count, 7u);
  const Parsed all =
      *Parse({"--on", "a.yaml", "--name", "x", "--format=none", "--count", "9",
              "--timeout", "1h30m", "--memory", "1GiB"});
  EXPECT_TRUE(all.on);
  EXPECT_EQ(all.file, "a.yaml");
  EXPECT_EQ(all.name, "x");
  EXPECT_EQ(all.format, "none");
  EXPECT_EQ(all.count, 9u);
  EXPECT_EQ(all.timeout, absl::Minutes(90));
  EXPECT_EQ(all.memory, uint64_t{1} << 30);
}

TEST(Flags, MayHaveAValueThatIsNotGiven) {
  EXPECT_EQ(Parse({})->pause, absl::ZeroDuration());
  EXPECT_EQ(Parse({"--pause"})->pause, absl::Seconds(2));
  EXPECT_EQ(Parse({"--pause", "--on"})->pause, absl::Seconds(2));
  EXPECT_EQ(Parse({"--pause", "3s"})->pause, absl::Seconds(3));
  EXPECT_EQ(Parse({"--pause=3s", "--on"})->pause, absl::Seconds(3));
  EXPECT_THAT(ParseError({"--timeout", "--on"}), HasSubstr("--timeout"));
}

TEST(Flags, ErrorsNameTheFlagAndTheWayOut) {
  EXPECT_THAT(ParseError({"--nmae", "x"}),
              HasSubstr("did you mean \"--name\""));
  EXPECT_THAT(ParseError({"--entirely-else"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(ParseError({"--name"}), HasSubstr("--name"));
  EXPECT_THAT(ParseError({"--name", "a", "--name", "b"}), HasSubstr("--name"));
  EXPECT_THAT(ParseError({"--format", "xml"}), HasSubstr("jsonl|none"));
  EXPECT_THAT(ParseError({"--count", "10"}), HasSubstr("from 1 to 9"));
  EXPECT_THAT(ParseError({"--count", "-1"}), HasSubstr("--count"));
  EXPECT_THAT(ParseError({"--count", "3x"}), HasSubstr("'3x'"));
  EXPECT_THAT(ParseError({"--timeout", "20"}), HasSubstr("20s"));
  EXPECT_THAT(ParseError({"--timeout", "-2s"}), HasSubstr("--timeout"));
  EXPECT_THAT(ParseError({"--memory", "1GB"}), HasSubstr("MiB"));
  EXPECT_THAT(ParseError({"a", "b"}), HasSubstr("unexpected argument \"b\""));
  EXPECT_THAT(ParseError({"--on=maybe"}), HasSubstr("--on"));
  EXPECT_THAT(ParseError({"b", "--x"}), HasSubstr("feedmill mow --help"));
}

TEST(Flags, SizesAreBounded) {
  EXPECT_EQ(*ParseBytes("64KiB"), 65536u);
  EXPECT_EQ(*ParseBytes("12"), 12u);
  EXPECT_FALSE(ParseBytes("0").ok());
  EXPECT_FALSE(ParseBytes("").ok());
  EXPECT_FALSE(ParseBytes("99999999999GiB").ok());
  EXPECT_FALSE(ParseBytes("18446744073709551615").ok());
  EXPECT_EQ(FormatBytes(uint64_t{256} << 20), "256MiB");
  EXPECT_EQ(FormatBytes(1500), "1500");
}

// ---- ready files

TEST(AddressFile, AppearsWholeReplacesAStaleOneAndGoes) {
  const Folder folder;
  const std::string path = folder.File("ready");
  std::ofstream(path) << "tcp://stale:1\n";
  {
    AddressFile ready(path);
    ASSERT_TRUE(ready.Prepare().ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(ready.Write("tcp://here:2").ok());
    EXPECT_EQ(Content(path), "tcp://here:2\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(
      std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
}

TEST(AddressFile, LeavesTheFileOfASuccessor) {
  const Folder folder;
  const std::string path = folder.File("ready");
  {
    AddressFile ready(path);
    ASSERT_TRUE(ready.Write("tcp://here:2").ok());
    std::ofstream(path) << "tcp://successor:3\n";
  }
  EXPECT_EQ(Content(path), "tcp://successor:3\n");
}

TEST(AddressFile, GoesToADescriptor) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  AddressFile ready(fmt::format("/dev/fd/{}", ends[1]));
  ASSERT_TRUE(ready.Prepare().ok());
  ASSERT_TRUE(ready.Write("tcp://here:2").ok());
  char text[64] = {};
  EXPECT_EQ(read(ends[0], text, sizeof(text)), 13);
  EXPECT_STREQ(text, "tcp://here:2\n");
  EXPECT_EQ(read(ends[0], text, sizeof(text)), 0);  // closed
  close(ends[0]);
  for (const char* wrong : {"/dev/fd/1", "/dev/fd/", "/dev/fd/x"}) {
    EXPECT_EQ(ExitCodeOf(AddressFile(wrong).Write("tcp://here:2")), 2) << wrong;
  }
}

TEST(AddressFile, RefusesPathsThatCannotBe) {
  const Folder folder;
  AddressFile nowhere(folder.File("no/such/ready"));
  EXPECT_EQ(ExitCodeOf(nowhere.Prepare()), 2);
  AddressFile is_folder(folder.File(""));
  EXPECT_EQ(ExitCodeOf(is_folder.Prepare()), 2);
}

// ---- output

TEST(ElementWriter, PrintsLinesThatWaitForNothing) {
  Pipe pipe;
  const std::atomic<bool> cancel = false;
  ElementWriter writer(ElementWriter::Format::kJsonl, pipe.writer(),
                       absl::UnixEpoch(), cancel);
  ASSERT_TRUE(writer.Add(Numbers({1, -2})).ok());
  EXPECT_EQ(pipe.Read(), "1\n-2\n");
  ASSERT_TRUE(writer.Add(Numbers({3})).ok());
  EXPECT_EQ(pipe.Read(), "3\n");
  EXPECT_EQ(writer.elements(), 3u);
  EXPECT_EQ(writer.bytes(), 24u);
}

TEST(ElementWriter, SummaryHasTheContractsFields) {
  Pipe pipe;
  const std::atomic<bool> cancel = false;
  ElementWriter writer(ElementWriter::Format::kSummary, pipe.writer(),
                       absl::UnixEpoch(), cancel);
  ASSERT_TRUE(writer.Add(Numbers({1, 2})).ok());
  ASSERT_TRUE(
      writer.Finish(absl::UnixEpoch() + absl::Seconds(4), {}, std::nullopt)
          .ok());
  const nlohmann::json summary = nlohmann::json::parse(pipe.Read());
  EXPECT_EQ(summary["elements"], 2);
  EXPECT_EQ(summary["bytes"], 16);
  EXPECT_EQ(summary["seconds"], 4.0);
  EXPECT_EQ(summary["elements_per_s"], 0.5);
  EXPECT_TRUE(summary["first_element_s"].is_number());
  OrderHash hash;
  hash.Add(Numbers({1, 2}));
  EXPECT_EQ(summary["order_hash"], hash.Hex());
}

TEST(ElementWriter, SummaryOfNothing) {
  Pipe pipe;
  const std::atomic<bool> cancel = false;
  ElementWriter writer(ElementWriter::Format::kSummary, pipe.writer(),
                       absl::UnixEpoch(), cancel);
  ASSERT_TRUE(writer.Finish(absl::UnixEpoch(), {}, std::nullopt).ok());
  const nlohmann::json summary = nlohmann::json::parse(pipe.Read());
  EXPECT_EQ(summary["elements"], 0);
  EXPECT_TRUE(summary["first_element_s"].is_null());
  EXPECT_EQ(summary["order_hash"], "0000000000000000");
}

// Numbers that were not printed may be given to other readers.
TEST(ElementWriter, StopsBetweenTwoLinesAndCountsThem) {
  Pipe pipe;
  std::atomic<bool> cancel = false;
  ElementWriter writer(ElementWriter::Format::kJsonl, pipe.writer(),
                       absl::UnixEpoch(), cancel);
  const std::vector<int64_t> numbers(5'000, 1'000'000'000);  // 11 bytes each
  std::vector<uint64_t> left;
  const absl::Status stopped =
      writer.Add(Numbers(numbers), [&](uint64_t unprinted) {
        left.push_back(unprinted);
        cancel = left.size() == 3;
        return true;
      });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(left, (std::vector<uint64_t>{5'000, 5'000 - 372, 5'000 - 2 * 372}));
  EXPECT_EQ(writer.elements(), 3u * 372);
  EXPECT_EQ(writer.bytes(), 3u * 372 * 8);
  EXPECT_EQ(pipe.Read().size(), 3u * 372 * 11);

  cancel = false;
  ASSERT_TRUE(writer.Add(Numbers({7, 8}), [](uint64_t) { return false; }).ok());
  EXPECT_EQ(writer.elements(), 3u * 372);
}

// ---- progress

TEST(ProgressLine, ShowsPercentWhereTheTotalIsKnown) {
  ReadProgress progress{1234567, 2000000, absl::Seconds(2), std::nullopt};
  EXPECT_EQ(ProgressLine(progress), "1,234,567 elements  617,283/s  1.0 MB/s");
  progress.total = 2469134;
  EXPECT_THAT(ProgressLine(progress),
              HasSubstr("[==========          ] 50 %  0:02 left"));
  progress.elapsed = absl::Seconds(4'000);
  EXPECT_THAT(ProgressLine(progress), HasSubstr("50 %  1:06:40 left"));
  progress.elements = 2469134;
  EXPECT_THAT(ProgressLine(progress), HasSubstr("100 %"));
  EXPECT_THAT(ProgressLine(progress), Not(HasSubstr("left")));
}

TEST(ReadWatch, NoticesThatTheReaderHasGone) {
  Pipe pipe;
  std::atomic<bool> closed = false;
  ReadWatch watch({.draw = false,
                   .output_fd = pipe.writer(),
                   .progress = [] { return ReadProgress{}; },
                   .on_closed_output =
                       [&] {
                         closed = true;
                         closed.notify_all();
                       }});
  pipe.CloseReader();
  closed.wait(false);
  EXPECT_TRUE(closed);
}

// ---- status

TEST(StatusTable, ShowsValuesThenTables) {
  const std::string table = *StatusTable(
      R"({"cluster_id":"a","jobs":[],"workers":[)"
      R"({"address":"tcp://h:1","slots":2},{"address":"tcp://hh:22"}]})");
  EXPECT_THAT(table, StartsWith("cluster_id: a\njobs: none\n"));
  EXPECT_THAT(table, HasSubstr("workers (2)\n"
                               "  address      slots\n"
                               "  tcp://h:1    2\n"
                               "  tcp://hh:22  -\n"));
  const std::string nested = *StatusTable(
      R"({"jobs":[{"name":"j","fingerprint":"ff","sessions":[{"consumer":"solo"}]}],)"
      R"("totals":{"jobs":1,"slots":2}})");
  EXPECT_THAT(nested, StartsWith("totals: jobs 1, slots 2\n"));
  EXPECT_THAT(nested, HasSubstr("jobs (1)\n  name  sessions\n  j     1\n"));
  EXPECT_THAT(nested, HasSubstr("sessions (1)\n  of  consumer\n  j   solo\n"));
  const std::string left_out = *StatusTable(
      R"({"events":[{"kind":"skipped","job":"j","records":["record 2 of a"]}]})");
  EXPECT_THAT(left_out, HasSubstr("left out lately\n  j: record 2 of a\n"));
  EXPECT_FALSE(StatusTable("[1]").ok());
  EXPECT_FALSE(StatusTable("{").ok());
}

TEST(StatusYaml, HasTheValuesOfTheJson) {
  EXPECT_EQ(*StatusYaml(R"({"jobs":[{"name":"yes: #1","gain":1.5,"of":[]},)"
                        R"({"steps":[{"k":[1,[2,3]]}],"left":null}],)"
                        R"("totals":{"jobs":2,"live":true}})"),
            "jobs:\n"
            "  - name: \"yes: #1\"\n"
            "    gain: 1.5\n"
            "    of: []\n"
            "  - steps:\n"
            "      - k:\n"
            "          - 1\n"
            "          - - 2\n"
            "            - 3\n"
            "    left: null\n"
            "totals:\n"
            "  jobs: 2\n"
            "  live: true\n");
  EXPECT_EQ(*StatusYaml("[1]"), "- 1\n");
  EXPECT_FALSE(StatusYaml("1").ok());
}

TEST(EventsTable, HasAllEventsWithTheirRecords) {
  const std::string status =
      R"({"events":[{"id":1,"age_s":70.2,"kind":"job","text":"job 'a' began"},)"
      R"({"id":2,"age_s":3.0,"kind":"skipped","count":2,"text":"left out",)"
      R"("records":["record 2 of a"]}]})";
  EXPECT_EQ(*EventsTable(status),
            "    70 s ago  job: job 'a' began\n"
            "     3 s ago  skipped ×2: left out\n"
            "              record 2 of a\n");
  EXPECT_EQ(*EventsTable("{}"), "no events yet\n");
  EXPECT_THAT(*EventsJson(status), StartsWith("[{\"id\":1,"));
  EXPECT_FALSE(EventsTable("[").ok());
}

// ---- doctor

TEST(Doctor, ComparesReleases) {
  const auto judge = [](const std::string& status) {
    return JudgeService(nlohmann::json::parse(status), "0.2.0");
  };
  const auto same = judge(
      R"({"release":"0.2.0","workers":[{"address":"tcp://a:1#k","release":"0.2.0"}]})");
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].level, Finding::Level::kOk);
  EXPECT_EQ(same[0].text, "the dispatcher and 1 worker have 0.2.0");
  const auto mixed = judge(
      R"({"release":"0.3.0","workers":[{"address":"tcp://a:1#k","release":"0.2.0"},)"
      R"({"address":"tcp://b:1","release":"0.3.0"},{"address":"tcp://c:1"}]})");
  EXPECT_EQ(mixed[0].level, Finding::Level::kWarning);
  EXPECT_THAT(mixed[0].text,
              StartsWith("the dispatcher has 0.3.0; tcp://a:1 has 0.2.0; "
                         "tcp://c:1 has an earlier release; this command has "
                         "0.2.0; releases of one"));
  EXPECT_THAT(judge("{}")[0].text, StartsWith("the dispatcher has an earlier"));
  EXPECT_TRUE(judge("[]").empty());
}

TEST(Doctor, JudgesTheSpaceOfTheWorkDir) {
  const auto judge = [](uint64_t bytes) {
    return JudgeService({{"dispatcher", {{"work_dir_free_bytes", bytes}}}}, "1")
        .at(1);
  };
  EXPECT_EQ(judge(uint64_t{5} << 30).level, Finding::Level::kOk);
  EXPECT_EQ(judge(uint64_t{5} << 30).text, "5120 MiB left");
  EXPECT_EQ(judge(uint64_t{500} << 20).level, Finding::Level::kWarning);
  EXPECT_EQ(judge(uint64_t{5} << 20).level, Finding::Level::kFailure);
}

// ---- signals and children

TEST(StopSignals, AreWaitedForInsteadOfInterrupting) {
  StopSignals signals({SIGUSR1});
  int stops = 0;
  std::atomic<bool> stopped = false;
  const MonitorSources sources;
  ServiceNotifier notifier(sources, std::nullopt);
  raise(SIGUSR1);
  const absl::Status status = ServeUntilStopped(
      signals, notifier,
      [&] {
        stopped.wait(false);
        return Cancelled("as asked");
      },
      [&](int signal) {
        EXPECT_EQ(signal, SIGUSR1);
        ++stops;
        stopped = true;
        stopped.notify_all();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(stops, 1);
}

// A datagram socket with an abstract name, as systemd's.
class NotifySocket {
 public:
  NotifySocket() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof(address.sun_family);  // the kernel chooses a name
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, any, size), 0);
    size = sizeof(address);
    EXPECT_EQ(getsockname(fd_, any, &size), 0);
    name_.assign(address.sun_path, size - offsetof(sockaddr_un, sun_path));
    name_[0] = '@';
  }
  ~NotifySocket() { close(fd_); }
  const std::string& name() const { return name_; }
  // The next datagram, "" if there is none.
  std::string Take() {
    char text[512];
    const ssize_t size = recv(fd_, text, sizeof(text), 0);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  const int fd_;
  std::string name_;
};

TEST(ServiceNotifier, FeedsTheWatchdogOnlyIfTheServiceAnswers) {
  NotifySocket manager;
  bool answers = true;
  const MonitorSources sources{
      .dispatcher = [&]() -> absl::StatusOr<DispatcherSnapshot> {
        if (!answers) return DeadlineExceeded("no answer");
        DispatcherSnapshot snapshot;
        snapshot.workers.resize(1);
        snapshot.sessions = 2;
        return snapshot;
      }};
  ServiceNotifier notifier(sources, NotifyTarget{.socket = manager.name(),
                                                 .watchdog = absl::Minutes(1)});
  answers = false;
  notifier.Check();
  EXPECT_EQ(manager.Take(), "");
  answers = true;
  notifier.Check();
  EXPECT_EQ(manager.Take(),
            "READY=1\nSTATUS=1 worker, 0 jobs, 2 readers\nWATCHDOG=1\n");
  notifier.Check();
  EXPECT_EQ(manager.Take(), "WATCHDOG=1\n");
  notifier.Stopping();
  EXPECT_EQ(manager.Take(), "STOPPING=1\nSTATUS=stopping\n");
}

TEST(ServiceNotifier, SaysWhatAWorkerDoes) {
  NotifySocket manager;
  WorkerStatus worker;
  worker.dispatcher = "d:1";
  const MonitorSources sources{
      .worker = [&]() -> absl::StatusOr<WorkerStatus> { return worker; }};
  ServiceNotifier notifier(sources, NotifyTarget{.socket = manager.name()});
  notifier.Check();
  EXPECT_THAT(manager.Take(),
              HasSubstr("STATUS=waits for the dispatcher at d:1"));
  worker.registered = true;
  worker.leases = 3;
  notifier.Check();
  EXPECT_EQ(manager.Take(), "STATUS=works for d:1, 3 leases\n");
  worker.draining = true;
  notifier.Check();
  EXPECT_EQ(manager.Take(), "STATUS=draining, 3 leases\n");
}

TEST(ServiceNotifier, ContinuesWithoutAListeningSocket) {
  const MonitorSources sources;
  ServiceNotifier notifier(sources, NotifyTarget{.socket = "/nowhere/notify"});
  notifier.Check();
  notifier.Stopping();
}

TEST(ChildExit, IsDescribed) {
  EXPECT_EQ(Describe({.pid = 1, .code = 3}), "exited with status 3");
  EXPECT_THAT(Describe({.pid = 1, .signal = SIGKILL}),
              MatchesRegex("was killed by signal 9 \\(Killed\\)"));
}

}  // namespace
}  // namespace feedmill
