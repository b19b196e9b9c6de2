#include "core/wire/control_codec.h"

namespace feedmill::wire {
namespace {

Order ReadOrder(FieldReader& reader, fb::Order order) {
  switch (order) {
    case fb::Order::Deterministic:
      return Order::kDeterministic;
    case fb::Order::Any:
      return Order::kAny;
    case fb::Order::None:
      break;
  }
  reader.Refuse(
      InvalidArgument("order {} is not known", static_cast<int>(order)));
  return Order::kDeterministic;
}

RejectReason ReadReason(FieldReader& reader, fb::RejectReason reason) {
  switch (reason) {
    case fb::RejectReason::Unknown:
      return RejectReason::kUnknown;
    case fb::RejectReason::Superseded:
      return RejectReason::kSuperseded;
    case fb::RejectReason::Released:
      return RejectReason::kReleased;
    case fb::RejectReason::Refused:
      return RejectReason::kRefused;
    case fb::RejectReason::None:
      break;
  }
  reader.Refuse(InvalidArgument("reason {} of a reject is not known",
                                static_cast<int>(reason)));
  return RejectReason::kRefused;
}

Sequencing ReadSequencing(FieldReader& reader, uint8_t value) {
  if (value <= static_cast<uint8_t>(Sequencing::kAlways)) {
    return static_cast<Sequencing>(value);
  }
  reader.Refuse(InvalidArgument("sequencing {} is not known", value));
  return Sequencing::kNever;
}

RunInfo ReadRun(FieldReader& reader, const fb::RunInfo& run) {
  return {RunNumber(run.run()), run.iteration(),
          run.seed(),           run.source_size(),
          run.positions(),      PlanId(reader.Text(run.plan())),
          run.passes(),         run.settled(),
          run.source_round(),   run.sequenced()};
}

BoundSplit ReadBoundSplit(FieldReader& reader, const fb::BoundSplit& split) {
  BoundSplit bound;
  bound.split = FromWire(*split.split());
  bound.begin = FromWire(*split.begin());
  bound.end = FromWire(*split.end());
  bound.leases = reader.All(split.leases(), [&](const fb::LeaseRef* lease) {
    return LeaseRef{WorkerId(reader.Text(lease->worker())),
                    Incarnation(lease->incarnation()),
                    Attempt(lease->attempt())};
  });
  bound.error = reader.Status(split.error());
  bound.skip = ReadSkipped(reader, split.skip());
  return bound;
}

// Refuses a share that is not sound.
Share ReadShare(FieldReader& reader, uint64_t rank, uint64_t ranks) {
  const Share share{rank, ranks};
  if (share.sound()) return share;
  reader.Refuse(InvalidArgument("there is no rank {} of {}", rank, ranks));
  return {};
}

Lease ReadLease(FieldReader& reader, const fb::Lease& lease) {
  return {FromWire(*lease.split()),
          reader.Session(lease.session()),
          PlanId(reader.Text(lease.plan())),
          FromWire(*lease.begin()),
          FromWire(*lease.end()),
          Attempt(lease.attempt()),
          ReadShare(reader, lease.rank(), lease.ranks()),
          lease.trace(),
          lease.depth()};
}

SplitReport ReadReport(const fb::SplitReport& report) {
  return {FromWire(report.split()), FromWire(report.taken()),
          FromWire(report.out())};
}

std::optional<ReaderLoad> ReadLoad(FieldReader& reader,
                                   const fb::ReaderLoad* load) {
  if (load == nullptr) return std::nullopt;
  ReaderLoad out{DurationFromWire(load->elapsed()),
                 DurationFromWire(load->waited()),
                 DurationFromWire(load->stage()),
                 load->elements(),
                 load->bytes(),
                 load->skipped(),
                 load->buffered_bytes(),
                 load->window_bytes()};
  if (load->skipped_elements() != nullptr) {
    out.skipped_elements = reader.All(
        load->skipped_elements(),
        [&](const flatbuffers::String* text) { return reader.Text(text); });
  }
  if (load->unreachable() != nullptr) {
    out.unreachable = reader.All(
        load->unreachable(),
        [&](const flatbuffers::String* text) { return reader.Text(text); });
  }
  return out;
}

PythonInterpreter ReadInterpreter(FieldReader& reader,
                                  const fb::PythonInterpreter& python) {
  PythonInterpreter out{reader.Text(python.path()),
                        reader.Text(python.version())};
  if (python.packages()->size() > kPythonPackagesMax) {
    reader.Refuse(InvalidArgument("an interpreter has {} packages, at most {}",
                                  python.packages()->size(),
                                  kPythonPackagesMax));
    return out;
  }
  out.packages = reader.All(
      python.packages(),
      [&](const flatbuffers::String* package) { return reader.Text(package); });
  if (!std::is_sorted(out.packages.begin(), out.packages.end())) {
    reader.Refuse(InvalidArgument("the packages are not sorted"));
  }
  return out;
}

WorkerLoad ReadLoad(FieldReader& reader, const fb::WorkerLoad& load) {
  WorkerLoad out{load.threads(), load.tasks(), DurationFromWire(load.busy()),
                 load.memory_bytes(), load.memory_max()};
  out.plans = reader.All(load.plans(), [&](const fb::PlanLoad* plan) {
    return PlanLoad{PlanId(reader.Text(plan->plan())),
                    plan->streams(),
                    plan->waiting_for_credit(),
                    plan->waiting_for_memory(),
                    plan->ready_bytes(),
                    plan->elements(),
                    plan->bytes(),
                    ReadCosts(reader, plan->steps())};
  });
  out.cache_faults = load.cache_faults();
  if (load.cache_fault() != nullptr) {
    out.cache_fault = reader.Text(load.cache_fault());
  }
  return out;
}

LinkReport ReadLink(FieldReader& reader, const fb::LinkReport& link) {
  if (link.kind() < fb::LinkKind::Tcp || link.kind() > fb::LinkKind::Relay) {
    reader.Refuse(InvalidArgument("a link of kind {} is not known",
                                  static_cast<int>(link.kind())));
  }
  return {reader.Text(link.worker()),
          static_cast<LinkKind>(link.kind()),
          FromWire(reader, link.compression(), /*may_wish=*/false),
          link.frames(),
          link.element_bytes(),
          link.wire_bytes()};
}

std::vector<TraceSpan> ReadSpans(
    FieldReader& reader,
    const flatbuffers::Vector<const fb::TraceSpan*>* spans) {
  if (spans == nullptr) return {};
  return reader.Structs(spans, [](const fb::TraceSpan& span) {
    return TraceSpan{static_cast<SpanKind>(span.kind()),
                     FromWire(span.split()),
                     Attempt(span.attempt()),
                     TimeFromWire(span.begin()),
                     TimeFromWire(span.end()),
                     FromWire(span.from()),
                     FromWire(span.to()),
                     span.rows(),
                     span.bytes(),
                     span.lane(),
                     span.place(),
                     span.process()};
  });
}

SpanBatch ReadBatch(FieldReader& reader, const fb::SpanBatch& batch) {
  return {batch.trace(),
          batch.first(),
          TimeFromWire(batch.sent()),
          DurationFromWire(batch.down()),
          ReadSpans(reader, batch.spans()),
          absl::InfinitePast()};
}

std::optional<SpanBatch> ReadBatch(FieldReader& reader,
                                   const fb::SpanBatch* batch) {
  if (batch == nullptr) return std::nullopt;
  return ReadBatch(reader, *batch);
}

std::optional<TraceOrder> ReadOrder(FieldReader& reader,
                                    const fb::TraceOrder* order) {
  if (order == nullptr) return std::nullopt;
  TraceOrder out{TimeFromWire(order->clock()), {}, absl::InfinitePast()};
  const auto* const traces = order->traces();
  if (traces != nullptr && reader.IsAligned<uint64_t>(*traces)) {
    out.traces.assign(traces->begin(), traces->end());
  }
  return out;
}

TraceReport ReadTraceReport(FieldReader& reader,
                            const fb::TraceReport& report) {
  TraceReport out;
  out.status = reader.Status(report.status());
  out.trace = report.trace();
  out.now = TimeFromWire(report.now());
  out.begin = TimeFromWire(report.begin());
  out.end = TimeFromWire(report.end());
  out.complete = report.complete();
  out.first = report.first();
  out.spans = ReadSpans(reader, report.spans());
  if (report.processes() != nullptr) {
    out.processes =
        reader.All(report.processes(), [&](const fb::TracedProcess* process) {
          return TracedProcess{
              reader.Text(process->name()), DurationFromWire(process->offset()),
              DurationFromWire(process->uncertainty()), process->lost()};
        });
  }
  if (report.places() != nullptr) {
    out.places = reader.All(
        report.places(),
        [&](const flatbuffers::String* place) { return reader.Text(place); });
  }
  out.lost = report.lost();
  if (report.waits_for() != nullptr) {
    out.waits_for = reader.Text(report.waits_for());
  }
  return out;
}

}  // namespace

ClientHello Read(FieldReader& reader, const fb::ClientHello& hello) {
  ClientHello out;
  out.job = JobName(reader.Text(hello.job()));
  out.graph = reader.Text(hello.graph());
  out.order = ReadOrder(reader, hello.order());
  out.seed = hello.seed();
  out.session = reader.Session(hello.session());
  out.take_over = hello.take_over();
  if (hello.run().has_value()) out.run = RunNumber(*hello.run());
  out.cursor = FromWire(*hello.cursor());
  out.seen = FromWire(*hello.seen());
  out.share = ReadShare(reader, hello.rank(), hello.ranks());
  out.passes = hello.passes();
  out.settled = hello.settled();
  out.begins = hello.begins();
  out.sequencing = ReadSequencing(reader, hello.sequencing());
  out.number = hello.number();
  return out;
}

ClientBeat Read(FieldReader& reader, const fb::ClientBeat& beat) {
  ClientBeat out;
  out.job = JobName(reader.Text(beat.job()));
  out.run = RunNumber(beat.run());
  out.session = reader.Session(beat.session());
  out.sent = TimeFromWire(beat.sent());
  out.splits = reader.Structs(beat.splits(), ReadReport);
  out.seen = FromWire(*beat.seen());
  if (beat.links() != nullptr) {
    out.links = reader.All(beat.links(), [&](const fb::LinkReport* link) {
      return ReadLink(reader, *link);
    });
  }
  out.load = ReadLoad(reader, beat.load());
  out.spans = ReadBatch(reader, beat.spans());
  return out;
}

ClientAnswer Read(FieldReader& reader, const fb::ClientAnswer& answer) {
  ClientAnswer out;
  out.job = JobName(reader.Text(answer.job()));
  out.session = reader.Session(answer.session());
  if (answer.beat_sent().has_value()) {
    out.beat_sent = TimeFromWire(*answer.beat_sent());
  }
  if (answer.run() != nullptr) out.run = ReadRun(reader, *answer.run());
  out.splits = reader.All(answer.splits(), [&](const fb::BoundSplit* split) {
    return ReadBoundSplit(reader, *split);
  });
  out.exhausted = answer.dry();
  out.finished = answer.finished();
  out.awaited = answer.awaited();
  const auto* const ranks = answer.awaited_ranks();
  if (ranks != nullptr && reader.IsAligned<uint64_t>(*ranks)) {
    out.awaited_ranks.assign(ranks->begin(), ranks->end());
  }
  out.workers = answer.workers();
  out.heartbeat_interval = DurationFromWire(answer.heartbeat_interval());
  out.client_timeout = DurationFromWire(answer.client_timeout());
  out.seen = FromWire(*answer.seen());
  out.tracing = ReadOrder(reader, answer.tracing());
  return out;
}

ClientReject Read(FieldReader& reader, const fb::ClientReject& reject) {
  ClientReject out;
  out.job = JobName(reader.Text(reject.job()));
  out.session = reader.Session(reject.session());
  out.reason = ReadReason(reader, reject.reason());
  out.detail = reader.Status(reject.detail());
  if (reject.met().has_value()) {
    out.later = {Incarnation(reject.latest()), DurationFromWire(*reject.met())};
  }
  return out;
}

ClientLeave Read(FieldReader& reader, const fb::ClientLeave& leave) {
  ClientLeave out;
  if (leave.why() < fb::LeaveReason::Left ||
      leave.why() > fb::LeaveReason::Cancelled) {
    reader.Refuse(InvalidArgument("a leave for reason {} is not known",
                                  static_cast<int>(leave.why())));
  }
  out.why = static_cast<LeaveReason>(leave.why());
  out.load = ReadLoad(reader, leave.load());
  out.spans = ReadBatch(reader, leave.spans());
  out.job = JobName(reader.Text(leave.job()));
  out.run = RunNumber(leave.run());
  out.session = reader.Session(leave.session());
  if (leave.splits() != nullptr) {
    out.splits = reader.Structs(leave.splits(), ReadReport);
  }
  return out;
}

WorkerBeat Read(FieldReader& reader, const fb::WorkerBeat& beat) {
  WorkerBeat out;
  out.worker = WorkerId(reader.Text(beat.worker()));
  out.incarnation = Incarnation(beat.incarnation());
  out.slots = beat.slots();
  out.draining = beat.draining();
  out.leases = reader.Structs(beat.leases(), [](const fb::HeldLease& lease) {
    return HeldLease{FromWire(lease.split()), Attempt(lease.attempt())};
  });
  out.plans = reader.All(beat.plans(), [&](const flatbuffers::String* plan) {
    return PlanId(reader.Text(plan));
  });
  out.costs = reader.All(beat.costs(), [&](const fb::PlanCost* cost) {
    return PlanCost{PlanId(reader.Text(cost->plan())), cost->positions(),
                    cost->bytes(), DurationFromWire(cost->busy())};
  });
  out.failures =
      reader.All(beat.failures(), [&](const fb::LeaseFailure* failure) {
        return LeaseFailure{FromWire(*failure->split()),
                            Attempt(failure->attempt()),
                            reader.Status(failure->status())};
      });
  out.manifests =
      reader.All(beat.manifests(), [&](const fb::ManifestResult* result) {
        return ManifestResult{reader.Text(result->graph_fingerprint()),
                              reader.Status(result->status()),
                              reader.Text(result->manifest())};
      });
  out.seen = FromWire(*beat.seen());
  if (beat.load() != nullptr) out.load = ReadLoad(reader, *beat.load());
  if (beat.spans() != nullptr) {
    out.spans = reader.All(beat.spans(), [&](const fb::SpanBatch* batch) {
      return ReadBatch(reader, *batch);
    });
  }
  out.allows_python = beat.allows_python();
  if (beat.python() != nullptr) {
    out.python = ReadInterpreter(reader, *beat.python());
  }
  if (beat.release() != nullptr) out.release = reader.Text(beat.release());
  out.complete = beat.complete();
  out.sequences = beat.sequences();
  return out;
}

WorkerAnswer Read(FieldReader& reader, const fb::WorkerAnswer& answer) {
  WorkerAnswer out;
  out.incarnation = Incarnation(answer.incarnation());
  out.leases = reader.All(answer.leases(), [&](const fb::Lease* lease) {
    return ReadLease(reader, *lease);
  });
  out.definitions =
      reader.All(answer.definitions(), [&](const fb::PlanDefinition* plan) {
        return PlanDefinition{
            PlanId(reader.Text(plan->plan())), reader.Text(plan->graph()),
            reader.Text(plan->manifest()), plan->seed(), plan->iteration()};
      });
  out.manifests =
      reader.All(answer.manifests(), [&](const fb::ManifestRequest* request) {
        return ManifestRequest{reader.Text(request->graph_fingerprint()),
                               reader.Text(request->graph())};
      });
  out.heartbeat_interval = DurationFromWire(answer.heartbeat_interval());
  out.park_after = DurationFromWire(answer.park_after());
  out.drained = answer.drained();
  out.seen = FromWire(*answer.seen());
  out.tracing = ReadOrder(reader, answer.tracing());
  out.python_known = answer.python_known();
  out.workers = answer.workers();
  return out;
}

StatusRequest Read(FieldReader& reader, const fb::StatusRequest& request) {
  StatusRequest out;
  if (const auto* trace = request.trace(); trace != nullptr) {
    out.trace = TraceRequest{
        JobName(reader.Text(trace->job())), trace->trace(), trace->begin(),
        DurationFromWire(trace->duration()), trace->from()};
  }
  out.events = request.events();
  return out;
}

StatusReply Read(FieldReader& reader, const fb::StatusReply& reply) {
  StatusReply out{reader.Text(reply.json()), {}};
  if (reply.trace() != nullptr)
    out.trace = ReadTraceReport(reader, *reply.trace());
  return out;
}

Refusal Read(FieldReader& reader, const fb::Refusal& refusal) {
  return {reader.Status(refusal.status())};
}

DatasetRequest Read(FieldReader& reader, const fb::DatasetRequest& request) {
  return {reader.Text(request.id()), reader.Text(request.graph())};
}

DatasetReply Read(FieldReader& reader, const fb::DatasetReply& reply) {
  return {reader.Text(reply.id()), reader.Text(reply.graph()),
          reader.Status(reply.status()), FromWire(*reply.seen())};
}

Grant Read(FieldReader& reader, const fb::Grant& grant) {
  Grant out;
  out.session = reader.Session(grant.session());
  out.split = FromWire(*grant.split());
  out.worker_incarnation = Incarnation(grant.worker_incarnation());
  out.attempt = Attempt(grant.attempt());
  out.opening = Opening(grant.opening());
  out.start = FromWire(*grant.start());
  out.total_bytes = grant.total_bytes();
  out.head = grant.head();
  out.compression = FromWire(reader, grant.compression(), /*may_wish=*/true);
  out.checksums = grant.checksums();
  out.weight = grant.weight();
  if (out.weight == 0 || out.weight > kWeightMax) {
    reader.Refuse(InvalidArgument("a grant of weight {}; 1 to {} make sense",
                                  out.weight, kWeightMax));
  }
  out.profile = grant.profile();
  out.arriving = grant.arriving();
  out.state = ReadState(reader, grant.state(), out.start);
  return out;
}

ShareRequest Read(FieldReader& reader, const fb::ShareRequest& request) {
  return {reader.Text(request.boot_id())};
}

ShareOffer Read(FieldReader& reader, const fb::ShareOffer& offer) {
  return {reader.Text(offer.socket_name()), offer.nonce()};
}

Relay Read(FieldReader& reader, const fb::Relay& relay) {
  Relay out;
  out.worker = WorkerId(reader.Text(relay.worker()));
  if (relay.client() != nullptr) {
    out.client.assign(relay.client()->begin(), relay.client()->end());
  }
  return out;
}

}  // namespace feedmill::wire
