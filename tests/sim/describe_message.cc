#include "tests/sim/describe_message.h"

#include <iterator>

#include "core/base/status.h"

namespace feedmill::sim {
namespace {

using Line = fmt::memory_buffer;

template <class... Args>
void Add(Line& line, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
}

void Add(Line& line, const Session& session) {
  Add(line, " {}#{}", session.consumer.value(), session.incarnation.value());
}

void Add(Line& line, const Cursor& cursor) {
  Add(line, " {}.{}", cursor.p, cursor.i);
}

struct Describer {
  Line& line;

  void operator()(const ClientHello& m) const {
    Add(line, "hello");
    Add(line, m.session);
    if (m.run) Add(line, " run {}", m.run->value());
    Add(line, m.cursor);
    if (m.take_over) Add(line, " take over");
  }
  void operator()(const ClientBeat& m) const {
    Add(line, "beat");
    Add(line, m.session);
    Add(line, " run {} sent {}", m.run.value(), absl::ToUnixMicros(m.sent));
    for (const SplitReport& r : m.splits) {
      Add(line, " {}:{}.{}/{}.{}", r.split.number, r.taken.p, r.taken.i,
          r.out.p, r.out.i);
    }
  }
  void operator()(const ClientAnswer& m) const {
    Add(line, "answer");
    Add(line, m.session);
    if (m.beat_sent) {
      Add(line, " to {}", absl::ToUnixMicros(*m.beat_sent));
    }
    if (m.run) Add(line, " run {}", m.run->run.value());
    for (const BoundSplit& s : m.splits) {
      Add(line, " {}:[{}.{} {}.{})", s.split.number, s.begin.p, s.begin.i,
          s.end.p, s.end.i);
      for (const LeaseRef& l : s.leases) {
        Add(line, "@{}#{}", l.worker.value(), l.attempt.value());
      }
      if (!s.error.ok()) Add(line, "!{}", ErrorText(s.error));
    }
    if (m.dry) Add(line, " dry");
  }
  void operator()(const ClientReject& m) const {
    Add(line, "reject");
    Add(line, m.session);
    Add(line, " {} {}", static_cast<int>(m.reason), ErrorText(m.detail));
  }
  void operator()(const ClientLeave& m) const {
    Add(line, "leave");
    Add(line, m.session);
    Add(line, " run {}", m.run.value());
  }
  void operator()(const WorkerBeat& m) const {
    Add(line, "worker-beat #{}{}", m.incarnation.value(),
        m.draining ? " draining" : "");
    for (const HeldLease& l : m.leases) {
      Add(line, " {}#{}", l.split.number, l.attempt.value());
    }
    for (const LeaseFailure& f : m.failures) {
      Add(line, " failed {}#{}", f.split.number, f.attempt.value());
    }
    Add(line, " {} plans {} costs {} manifests", m.plans.size(), m.costs.size(),
        m.manifests.size());
  }
  void operator()(const WorkerAnswer& m) const {
    Add(line, "worker-answer #{}", m.incarnation.value());
    for (const Lease& l : m.leases) {
      Add(line, " {}:[{}.{} {}.{})#{}", l.split.number, l.begin.p, l.begin.i,
          l.end.p, l.end.i, l.attempt.value());
    }
    Add(line, " {} definitions {} manifests{}", m.definitions.size(),
        m.manifests.size(), m.drained ? " drained" : "");
  }
  void operator()(const StatusRequest&) const { Add(line, "status"); }
  void operator()(const StatusReply& m) const {
    Add(line, "status-reply {}", m.json);
  }
  void operator()(const Refusal& m) const {
    Add(line, "refusal {}", ErrorText(m.status));
  }
  void operator()(const Grant& m) const {
    Add(line, "grant");
    Add(line, m.session);
    Add(line, " {}#{} opening {} from", m.split.number, m.attempt.value(),
        m.opening.value());
    Add(line, m.start);
    Add(line, " bytes {}{}", m.total_bytes, m.head ? " head" : "");
  }
  void operator()(const Frame& m) const {
    Add(line, "frame");
    Add(line, m.session);
    Add(line, " {}#{} opening {}", m.split.number, m.attempt.value(),
        m.opening.value());
    Add(line, m.piece.begin);
    Add(line, m.piece.end);
    Add(line, " rows {}{}", m.piece.chunk.rows,
        m.piece.error.ok() ? "" : " error");
  }
};

}  // namespace

std::string Describe(const Message& message) {
  Line line;
  std::visit(Describer{line}, message);
  return {line.data(), line.size()};
}

}  // namespace feedmill::sim
