#include "core/wire/control_codec.h"

namespace feedmill::wire {
namespace {

template <class T>
Body MakeBody(fb::Body type, Offset<T> offset) {
  return {type, offset.Union()};
}

fb::Order ToWire(Order order) {
  return order == Order::kAny ? fb::Order::Any : fb::Order::Deterministic;
}

Offset<fb::RunInfo> Put(Builder& builder, const RunInfo& run) {
  return fb::CreateRunInfo(builder, run.run.value(), run.iteration, run.seed,
                           run.source_size, run.positions,
                           wire::Put(builder, run.plan.value()), run.passes,
                           run.settled, run.source_round, run.sequenced);
}

Offset<fb::BoundSplit> Put(Builder& builder, const BoundSplit& split) {
  const auto leases = PutAll(builder, split.leases, [&](const LeaseRef& lease) {
    return fb::CreateLeaseRef(builder, wire::Put(builder, lease.worker.value()),
                              lease.incarnation.value(), lease.attempt.value());
  });
  const auto error = wire::Put(builder, split.error);
  const auto skip = wire::Put(builder, split.skip);
  const fb::SplitId id = wire::ToWire(split.split);
  const fb::Cursor begin = wire::ToWire(split.begin);
  const fb::Cursor end = wire::ToWire(split.end);
  return fb::CreateBoundSplit(builder, &id, &begin, &end, leases, error, skip);
}

Offset<fb::Lease> Put(Builder& builder, const Lease& lease) {
  const auto session = wire::Put(builder, lease.session);
  const auto plan = wire::Put(builder, lease.plan.value());
  const fb::SplitId id = wire::ToWire(lease.split);
  const fb::Cursor begin = wire::ToWire(lease.begin);
  const fb::Cursor end = wire::ToWire(lease.end);
  return fb::CreateLease(builder, &id, session, plan, &begin, &end,
                         lease.attempt.value(), lease.share.rank,
                         lease.share.ranks, lease.trace, lease.depth);
}

Offset<flatbuffers::Vector<const fb::StepCost*>> PutCosts(
    Builder& builder, const std::vector<StepCost>& costs) {
  if (costs.empty()) return 0;
  return PutStructs(builder, costs, [](const StepCost& cost) {
    return fb::StepCost(cost.place, cost.wall_ns, cost.cpu_ns, cost.rows_in,
                        cost.rows_out, cost.bytes_out);
  });
}

Offset<fb::ReaderLoad> Put(Builder& builder,
                           const std::optional<ReaderLoad>& load) {
  if (!load.has_value()) return 0;
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> skipped = 0;
  if (!load->skipped_elements.empty()) {
    skipped = builder.CreateVectorOfStrings(load->skipped_elements);
  }
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> unreachable = 0;
  if (!load->unreachable.empty()) {
    unreachable = builder.CreateVectorOfStrings(load->unreachable);
  }
  return fb::CreateReaderLoad(
      builder, wire::ToWire(load->elapsed), wire::ToWire(load->waited),
      wire::ToWire(load->stage), load->elements, load->bytes, load->skipped,
      load->buffered_bytes, load->window_bytes, skipped, unreachable);
}

Offset<fb::PythonInterpreter> Put(
    Builder& builder, const std::optional<PythonInterpreter>& python) {
  if (!python.has_value()) return 0;
  const auto path = wire::Put(builder, python->path);
  const auto version = wire::Put(builder, python->version);
  const auto packages = PutAll(
      builder, python->packages,
      [&](const std::string& package) { return wire::Put(builder, package); });
  return fb::CreatePythonInterpreter(builder, path, version, packages);
}

Offset<fb::WorkerLoad> Put(Builder& builder,
                           const std::optional<WorkerLoad>& load) {
  if (!load.has_value()) return 0;
  const auto plans = PutAll(builder, load->plans, [&](const PlanLoad& plan) {
    const auto id = wire::Put(builder, plan.plan.value());
    const auto steps = PutCosts(builder, plan.steps);
    return fb::CreatePlanLoad(builder, id, plan.streams,
                              plan.waiting_for_credit, plan.waiting_for_memory,
                              plan.ready_bytes, plan.elements, plan.bytes,
                              steps);
  });
  Offset<flatbuffers::String> fault = 0;
  if (!load->cache_fault.empty()) {
    fault = wire::Put(builder, load->cache_fault);
  }
  return fb::CreateWorkerLoad(
      builder, load->threads, load->tasks, wire::ToWire(load->busy),
      load->memory_bytes, load->memory_max, plans, load->cache_faults, fault);
}

Offset<flatbuffers::Vector<const fb::TraceSpan*>> PutSpans(
    Builder& builder, const std::vector<TraceSpan>& spans) {
  if (spans.empty()) return 0;
  return PutStructs(builder, spans, [](const TraceSpan& span) {
    return fb::TraceSpan(
        wire::ToWire(span.split), span.attempt.value(),
        wire::ToWire(span.begin), wire::ToWire(span.end),
        wire::ToWire(span.from), wire::ToWire(span.to), span.rows, span.bytes,
        static_cast<uint32_t>(span.kind), span.lane, span.place, span.process);
  });
}

Offset<fb::SpanBatch> Put(Builder& builder, const SpanBatch& batch) {
  const auto spans = PutSpans(builder, batch.spans);
  return fb::CreateSpanBatch(builder, batch.trace, batch.first,
                             wire::ToWire(batch.sent), wire::ToWire(batch.down),
                             spans);
}

Offset<fb::SpanBatch> Put(Builder& builder,
                          const std::optional<SpanBatch>& batch) {
  return batch.has_value() ? Put(builder, *batch) : 0;
}

Offset<fb::TraceOrder> Put(Builder& builder,
                           const std::optional<TraceOrder>& order) {
  if (!order.has_value()) return 0;
  const auto traces = builder.CreateVector(order->traces);
  return fb::CreateTraceOrder(builder, wire::ToWire(order->clock), traces);
}

Offset<fb::TraceReport> Put(Builder& builder, const TraceReport& report) {
  const auto status = wire::Put(builder, report.status);
  const auto spans = PutSpans(builder, report.spans);
  const auto processes =
      PutAll(builder, report.processes, [&](const TracedProcess& process) {
        return fb::CreateTracedProcess(
            builder, wire::Put(builder, process.name),
            wire::ToWire(process.offset), wire::ToWire(process.uncertainty),
            process.lost);
      });
  const auto places = PutAll(
      builder, report.places,
      [&](const std::string& place) { return wire::Put(builder, place); });
  const auto waits_for = wire::Put(builder, report.waits_for);
  return fb::CreateTraceReport(
      builder, status, report.trace, wire::ToWire(report.now),
      wire::ToWire(report.begin), wire::ToWire(report.end), report.complete,
      report.first, spans, processes, places, report.lost, waits_for);
}

using Reports = Offset<flatbuffers::Vector<const fb::SplitReport*>>;

Reports PutReports(Builder& builder, const std::vector<SplitReport>& reports) {
  return PutStructs(builder, reports, [](const SplitReport& report) {
    return fb::SplitReport(wire::ToWire(report.split),
                           wire::ToWire(report.taken),
                           wire::ToWire(report.out));
  });
}

}  // namespace

Body Put(Builder& builder, const ClientHello& hello) {
  const auto job = Put(builder, hello.job.value());
  const auto graph = Put(builder, hello.graph);
  const auto session = Put(builder, hello.session);
  flatbuffers::Optional<uint64_t> run = flatbuffers::nullopt;
  if (hello.run.has_value()) run = hello.run->value();
  const fb::Cursor cursor = ToWire(hello.cursor);
  const fb::Seen seen = ToWire(hello.seen);
  return MakeBody(
      fb::Body::ClientHello,
      fb::CreateClientHello(
          builder, job, graph, ToWire(hello.order), hello.seed, session,
          hello.take_over, run, &cursor, &seen, hello.share.rank,
          hello.share.ranks, hello.passes, hello.settled, hello.begins,
          static_cast<uint8_t>(hello.sequencing), hello.number));
}

Body Put(Builder& builder, const ClientBeat& beat) {
  const auto job = Put(builder, beat.job.value());
  const auto session = Put(builder, beat.session);
  const auto splits = PutReports(builder, beat.splits);
  const fb::Seen seen = ToWire(beat.seen);
  Offset<flatbuffers::Vector<Offset<fb::LinkReport>>> links = 0;
  if (!beat.links.empty()) {
    links = PutAll(builder, beat.links, [&](const LinkReport& link) {
      return fb::CreateLinkReport(builder, Put(builder, link.worker),
                                  static_cast<fb::LinkKind>(link.kind),
                                  ToWire(link.compression), link.frames,
                                  link.element_bytes, link.wire_bytes);
    });
  }
  const auto load = Put(builder, beat.load);
  const auto spans = Put(builder, beat.spans);
  return MakeBody(fb::Body::ClientBeat,
                  fb::CreateClientBeat(builder, job, beat.run.value(), session,
                                       ToWire(beat.sent), splits, &seen, links,
                                       load, spans));
}

Body Put(Builder& builder, const ClientAnswer& answer) {
  const auto job = Put(builder, answer.job.value());
  const auto session = Put(builder, answer.session);
  flatbuffers::Optional<int64_t> sent = flatbuffers::nullopt;
  if (answer.beat_sent.has_value()) sent = ToWire(*answer.beat_sent);
  Offset<fb::RunInfo> run = 0;
  if (answer.run.has_value()) run = Put(builder, *answer.run);
  const auto splits =
      PutAll(builder, answer.splits,
             [&](const BoundSplit& split) { return Put(builder, split); });
  Offset<flatbuffers::Vector<uint64_t>> awaited = 0;
  if (!answer.awaited_ranks.empty()) {
    awaited = builder.CreateVector(answer.awaited_ranks);
  }
  const auto tracing = Put(builder, answer.tracing);
  const fb::Seen seen = ToWire(answer.seen);
  return MakeBody(
      fb::Body::ClientAnswer,
      fb::CreateClientAnswer(
          builder, job, session, sent, run, splits, answer.exhausted,
          answer.workers, ToWire(answer.heartbeat_interval),
          ToWire(answer.client_timeout), &seen, answer.finished, answer.awaited,
          awaited, tracing));
}

Body Put(Builder& builder, const ClientReject& reject) {
  const auto job = Put(builder, reject.job.value());
  const auto session = Put(builder, reject.session);
  const auto detail = Put(builder, reject.detail);
  uint64_t latest = 0;
  flatbuffers::Optional<int64_t> met = flatbuffers::nullopt;
  if (reject.later.has_value()) {
    latest = reject.later->life.value();
    met = ToWire(reject.later->met);
  }
  return MakeBody(
      fb::Body::ClientReject,
      fb::CreateClientReject(builder, job, session,
                             static_cast<fb::RejectReason>(reject.reason),
                             detail, latest, met));
}

Body Put(Builder& builder, const ClientLeave& leave) {
  const auto job = Put(builder, leave.job.value());
  const auto session = Put(builder, leave.session);
  Reports splits = 0;
  if (!leave.splits.empty()) splits = PutReports(builder, leave.splits);
  const auto load = Put(builder, leave.load);
  const auto spans = Put(builder, leave.spans);
  return MakeBody(fb::Body::ClientLeave,
                  fb::CreateClientLeave(
                      builder, job, leave.run.value(), session, splits,
                      static_cast<fb::LeaveReason>(leave.why), load, spans));
}

Body Put(Builder& builder, const WorkerBeat& beat) {
  const auto worker = Put(builder, beat.worker.value());
  const auto leases =
      PutStructs(builder, beat.leases, [](const HeldLease& lease) {
        return fb::HeldLease(ToWire(lease.split), lease.attempt.value());
      });
  const auto plans = PutAll(builder, beat.plans, [&](const PlanId& plan) {
    return Put(builder, plan.value());
  });
  const auto costs = PutAll(builder, beat.costs, [&](const PlanCost& cost) {
    return fb::CreatePlanCost(builder, Put(builder, cost.plan.value()),
                              cost.positions, cost.bytes, ToWire(cost.busy));
  });
  const auto failures =
      PutAll(builder, beat.failures, [&](const LeaseFailure& failure) {
        const auto status = Put(builder, failure.status);
        const fb::SplitId split = ToWire(failure.split);
        return fb::CreateLeaseFailure(builder, &split, failure.attempt.value(),
                                      status);
      });
  const auto manifests =
      PutAll(builder, beat.manifests, [&](const ManifestResult& result) {
        const auto fingerprint = Put(builder, result.graph_fingerprint);
        const auto status = Put(builder, result.status);
        return fb::CreateManifestResult(builder, fingerprint, status,
                                        Put(builder, result.manifest));
      });
  const auto load = Put(builder, beat.load);
  Offset<flatbuffers::Vector<Offset<fb::SpanBatch>>> spans = 0;
  if (!beat.spans.empty()) {
    spans = PutAll(builder, beat.spans,
                   [&](const SpanBatch& batch) { return Put(builder, batch); });
  }
  const auto python = Put(builder, beat.python);
  Offset<flatbuffers::String> release = 0;
  if (!beat.release.empty()) release = Put(builder, beat.release);
  const fb::Seen seen = ToWire(beat.seen);
  return MakeBody(
      fb::Body::WorkerBeat,
      fb::CreateWorkerBeat(
          builder, worker, beat.incarnation.value(), beat.slots, beat.draining,
          leases, plans, costs, failures, manifests, &seen, load, spans,
          beat.allows_python, python, release, beat.complete, beat.sequences));
}

Body Put(Builder& builder, const WorkerAnswer& answer) {
  const auto leases = PutAll(builder, answer.leases, [&](const Lease& lease) {
    return Put(builder, lease);
  });
  const auto definitions =
      PutAll(builder, answer.definitions, [&](const PlanDefinition& plan) {
        const auto id = Put(builder, plan.plan.value());
        const auto graph = Put(builder, plan.graph);
        const auto manifest = Put(builder, plan.manifest);
        return fb::CreatePlanDefinition(builder, id, graph, manifest, plan.seed,
                                        plan.iteration);
      });
  const auto manifests =
      PutAll(builder, answer.manifests, [&](const ManifestRequest& request) {
        const auto fingerprint = Put(builder, request.graph_fingerprint);
        return fb::CreateManifestRequest(builder, fingerprint,
                                         Put(builder, request.graph));
      });
  const auto tracing = Put(builder, answer.tracing);
  const fb::Seen seen = ToWire(answer.seen);
  return MakeBody(
      fb::Body::WorkerAnswer,
      fb::CreateWorkerAnswer(
          builder, answer.incarnation.value(), leases, definitions, manifests,
          ToWire(answer.heartbeat_interval), ToWire(answer.park_after),
          answer.drained, &seen, tracing, answer.python_known, answer.workers));
}

Body Put(Builder& builder, const StatusRequest& request) {
  Offset<fb::TraceRequest> trace = 0;
  if (request.trace.has_value()) {
    trace = fb::CreateTraceRequest(
        builder, Put(builder, request.trace->job.value()), request.trace->trace,
        request.trace->begin, ToWire(request.trace->duration),
        request.trace->from);
  }
  return MakeBody(fb::Body::StatusRequest,
                  fb::CreateStatusRequest(builder, trace, request.events));
}

Body Put(Builder& builder, const StatusReply& reply) {
  const auto json = Put(builder, reply.json);
  Offset<fb::TraceReport> trace = 0;
  if (reply.trace.has_value()) trace = Put(builder, *reply.trace);
  return MakeBody(fb::Body::StatusReply,
                  fb::CreateStatusReply(builder, json, trace));
}

Body Put(Builder& builder, const Refusal& refusal) {
  return MakeBody(fb::Body::Refusal,
                  fb::CreateRefusal(builder, Put(builder, refusal.status)));
}

Body Put(Builder& builder, const DatasetRequest& request) {
  const auto id = Put(builder, request.id);
  return MakeBody(
      fb::Body::DatasetRequest,
      fb::CreateDatasetRequest(builder, id, Put(builder, request.graph)));
}

Body Put(Builder& builder, const DatasetReply& reply) {
  const auto id = Put(builder, reply.id);
  const auto graph = Put(builder, reply.graph);
  const auto status = Put(builder, reply.status);
  const fb::Seen seen = ToWire(reply.seen);
  return MakeBody(fb::Body::DatasetReply,
                  fb::CreateDatasetReply(builder, id, graph, status, &seen));
}

Body Put(Builder& builder, const Grant& grant) {
  const auto session = Put(builder, grant.session);
  const fb::SplitId split = ToWire(grant.split);
  const auto state = Put(builder, grant.state);
  const fb::Cursor start = ToWire(grant.start);
  return MakeBody(
      fb::Body::Grant,
      fb::CreateGrant(builder, session, &split,
                      grant.worker_incarnation.value(), grant.attempt.value(),
                      grant.opening.value(), &start, grant.total_bytes,
                      grant.head, ToWire(grant.compression), grant.checksums,
                      grant.weight, grant.profile, grant.arriving, state));
}

Body Put(Builder& builder, const ShareRequest& request) {
  return MakeBody(
      fb::Body::ShareRequest,
      fb::CreateShareRequest(builder, Put(builder, request.boot_id)));
}

Body Put(Builder& builder, const ShareOffer& offer) {
  const auto name = Put(builder, offer.socket_name);
  return MakeBody(fb::Body::ShareOffer,
                  fb::CreateShareOffer(builder, name, offer.nonce));
}

Body Put(Builder& builder, const Relay& relay) {
  const auto worker = Put(builder, relay.worker.value());
  Offset<flatbuffers::Vector<uint8_t>> client = 0;
  if (!relay.client.empty()) {
    client = builder.CreateVector(
        reinterpret_cast<const uint8_t*>(relay.client.data()),
        relay.client.size());
  }
  return MakeBody(fb::Body::Relay, fb::CreateRelay(builder, worker, client));
}

}  // namespace feedmill::wire
