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
    if (m.passes > 0) Add(line, " passes {}{}", m.passes, m.settled ? "!" : "");
    Add(line, m.cursor);
    if (m.begins) Add(line, " begins");
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
    if (m.awaited > 0) Add(line, " awaits {}", m.awaited);
    if (m.run && m.run->passes > 0) {
      Add(line, " passes {}{}", m.run->passes, m.run->settled ? "!" : "");
    }
    for (const BoundSplit& s : m.splits) {
      Add(line, " {}:[{}.{} {}.{})", s.split.number, s.begin.p, s.begin.i,
          s.end.p, s.end.i);
      for (const LeaseRef& l : s.leases) {
        Add(line, "@{}#{}", l.worker.value(), l.attempt.value());
      }
      if (!s.error.ok()) Add(line, "!{}", ErrorText(s.error));
    }
    if (m.exhausted) Add(line, " dry");
    if (m.finished) Add(line, " finished");
  }
  void operator()(const ClientReject& m) const {
    Add(line, "reject");
    Add(line, m.session);
    Add(line, " {} {}", static_cast<int>(m.reason), ErrorText(m.detail));
  }
  void operator()(const ClientLeave& m) const {
    Add(line, "leave");
    Add(line, m.session);
    Add(line, " run {} reason {}", m.run.value(), static_cast<int>(m.why));
  }
  void operator()(const WorkerBeat& m) const {
    Add(line, "worker-beat #{}{}", m.incarnation.value(),
        m.draining ? " draining" : "");
    if (m.allows_python) {
      Add(line, " python {}", m.python ? m.python->version : "as said");
    }
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
  void operator()(const DatasetRequest& m) const {
    Add(line, "dataset-request {} '{}'", m.id, m.graph);
  }
  void operator()(const DatasetReply& m) const {
    Add(line, "dataset-reply {} '{}' {}", m.id, m.graph, ErrorText(m.status));
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
  void operator()(const ShareRequest& m) const {
    Add(line, "share-request {}", m.boot_id);
  }
  void operator()(const ShareOffer& m) const {
    Add(line, "share-offer {} {}", m.socket_name, m.nonce);
  }
  void operator()(const Relay& m) const {
    Add(line, "relay {} {} parts", m.worker.value(), m.parts.size());
  }
};

// Hashes numbers in order.
struct Folder {
  uint64_t hash;

  void Add(uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  void Add(const std::string& text) {
    Add(text.size());
    for (const char c : text) Add(static_cast<uint8_t>(c));
  }
  void Add(const Cursor& cursor) {
    Add(cursor.p);
    Add(cursor.i);
  }
  void Add(const Session& session) {
    Add(session.consumer.value());
    Add(session.incarnation.value());
  }
  void Add(absl::Time time) {
    Add(static_cast<uint64_t>(absl::ToUnixNanos(time)));
  }
  void Add(const absl::Status& status) {
    Add(static_cast<uint64_t>(status.code()));
  }

  void operator()(const ClientHello& m) {
    Add(m.session);
    Add(m.run ? m.run->value() : 0);
    Add(m.cursor);
    Add(m.take_over);
  }
  void operator()(const ClientBeat& m) {
    Add(m.session);
    Add(m.run.value());
    Add(m.sent);
    for (const SplitReport& report : m.splits) {
      Add(report.split.number);
      Add(report.taken);
      Add(report.out);
    }
  }
  void operator()(const ClientAnswer& m) {
    Add(m.session);
    if (m.beat_sent) Add(*m.beat_sent);
    if (m.run) Add(m.run->run.value());
    if (m.run && m.run->passes > 0) Add(2 * m.run->passes + m.run->settled);
    for (const BoundSplit& split : m.splits) {
      Add(split.split.number);
      Add(split.begin);
      Add(split.end);
      Add(split.error);
      for (const LeaseRef& lease : split.leases) {
        Add(lease.worker.value());
        Add(lease.incarnation.value());
        Add(lease.attempt.value());
      }
    }
    Add(m.exhausted);
    Add(m.finished);
  }
  void operator()(const ClientReject& m) {
    Add(m.session);
    Add(static_cast<uint64_t>(m.reason));
    Add(m.detail);
  }
  void operator()(const ClientLeave& m) {
    Add(m.session);
    Add(m.run.value());
    Add(static_cast<uint64_t>(m.why));
  }
  void operator()(const WorkerBeat& m) {
    Add(m.incarnation.value());
    Add(m.draining);
    for (const HeldLease& lease : m.leases) {
      Add(lease.split.number);
      Add(lease.attempt.value());
    }
    for (const LeaseFailure& failure : m.failures) {
      Add(failure.split.number);
    }
    Add(m.plans.size());
    Add(m.costs.size());
    Add(m.manifests.size());
  }
  void operator()(const WorkerAnswer& m) {
    Add(m.incarnation.value());
    for (const Lease& lease : m.leases) {
      Add(lease.split.number);
      Add(lease.session);
      Add(lease.begin);
      Add(lease.end);
      Add(lease.attempt.value());
    }
    Add(m.definitions.size());
    Add(m.manifests.size());
    Add(m.drained);
  }
  void operator()(const StatusRequest&) {}
  void operator()(const StatusReply& m) { Add(m.json); }
  void operator()(const DatasetRequest& m) {
    Add(m.id);
    Add(m.graph);
  }
  void operator()(const DatasetReply& m) {
    Add(m.id);
    Add(m.graph);
    Add(m.status);
  }
  void operator()(const Refusal& m) { Add(m.status); }
  void operator()(const Grant& m) {
    Add(m.session);
    Add(m.split.number);
    Add(m.attempt.value());
    Add(m.opening.value());
    Add(m.start);
    Add(m.total_bytes);
    Add(m.head);
  }
  void operator()(const Frame& m) {
    Add(m.session);
    Add(m.split.number);
    Add(m.attempt.value());
    Add(m.opening.value());
    Add(m.piece.begin);
    Add(m.piece.end);
    Add(m.piece.chunk.rows);
    Add(m.piece.error);
  }
  void operator()(const ShareRequest& m) { Add(m.boot_id); }
  void operator()(const ShareOffer& m) {
    Add(m.socket_name);
    Add(m.nonce);
  }
  void operator()(const Relay& m) {
    Add(m.worker.value());
    Add(m.client);
    Add(m.parts.size());
  }
};

}  // namespace

uint64_t Fold(uint64_t hash, const Message& message) {
  Folder folder{hash};
  folder.Add(message.index());
  std::visit(folder, message);
  return folder.hash;
}

uint64_t Fold(uint64_t hash, const std::string& text) {
  Folder folder{hash};
  folder.Add(text);
  return folder.hash;
}

std::string Describe(const Message& message) {
  Line line;
  std::visit(Describer{line}, message);
  return {line.data(), line.size()};
}

}  // namespace feedmill::sim
