#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <functional>
#include <set>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/wire/codec.h"
#include "schemas/envelope_generated.h"
#include "tests/unit/wire/golden_file.h"
#include "tests/unit/wire/sample_messages.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using Bytes = std::string;

Bytes BytesOf(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}
Buffer BufferOf(const Bytes& bytes) {
  return Buffer::CopyOf(std::as_bytes(std::span(bytes)));
}

// Splits a golden file into its parts.
Parts PartsOf(const Bytes& joined) {
  Parts parts;
  for (size_t at = 0; at < joined.size();) {
    uint64_t size = 0;
    std::memcpy(&size, joined.data() + at, sizeof(size));
    at += sizeof(size);
    parts.push_back(BufferOf(joined.substr(at, size)));
    at += size;
  }
  return parts;
}

// Returns the parts with the given header and a valid checksum.
Parts Sealed(Parts parts, const Bytes& header) {
  const uint64_t checksum = XXH3_64bits(header.data(), header.size());
  parts[0] =
      BufferOf(header + Bytes(reinterpret_cast<const char*>(&checksum), 8));
  return parts;
}
Bytes HeaderOf(const Parts& parts) {
  const Bytes part = BytesOf(parts[0]);
  return part.substr(0, part.size() - 8);
}

// Makes a message with a hand-written envelope.
using Builder = flatbuffers::FlatBufferBuilder;
using BodyMaker =
    std::function<std::pair<fb::Body, flatbuffers::Offset<void>>(Builder&)>;
Parts Handmade(uint32_t version, const BodyMaker& make) {
  Builder builder;
  const auto cluster = builder.CreateString("golden");
  const auto [type, body] = make(builder);
  fb::FinishEnvelopeBuffer(
      builder, fb::CreateEnvelope(builder, version, cluster, type, body));
  return Sealed(Parts(1),
                {reinterpret_cast<const char*>(builder.GetBufferPointer()),
                 builder.GetSize()});
}

absl::StatusCode CodeOf(const Parts& parts) {
  return Decode(parts, kCluster).status().code();
}

std::vector<std::string> Lines(const Chunk& chunk) {
  std::vector<std::string> lines(chunk.rows);
  for (size_t row = 0; row < chunk.rows; ++row) {
    AppendJson(chunk, row, lines[row]);
  }
  return lines;
}

// ---- round trips

TEST(Codec, EveryMessageComesBackAsItWas) {
  std::set<size_t> kinds;
  for (const Sample& sample : SampleMessages()) {
    kinds.insert(sample.message.index());
    const Parts parts = Encode(sample.message, kCluster);
    const auto decoded = Decode(parts, kCluster);
    ASSERT_TRUE(decoded.ok()) << sample.name << ": " << decoded.status();
    EXPECT_EQ(decoded->index(), sample.message.index());
    EXPECT_EQ(Joined(Encode(*decoded, kCluster)), Joined(parts)) << sample.name;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

TEST(Codec, HelloHasAllItsFields) {
  const auto hello = SampleOf<ClientHello>("client_hello");
  const ClientHello back = Returned(hello);
  EXPECT_EQ(back.job, hello.job);
  EXPECT_EQ(back.graph, hello.graph);
  EXPECT_EQ(back.order, Order::kAny);
  EXPECT_EQ(back.seed, 0u);
  EXPECT_EQ(back.session, hello.session);
  EXPECT_TRUE(back.take_over);
  EXPECT_EQ(back.run, RunNumber(3));
  EXPECT_EQ(back.cursor, hello.cursor);
  EXPECT_EQ(back.seen, hello.seen);
  const auto first = Returned(SampleOf<ClientHello>("client_hello_first"));
  EXPECT_EQ(first.seed, std::nullopt);
  EXPECT_EQ(first.run, std::nullopt);
  EXPECT_EQ(first.order, Order::kDeterministic);
}

TEST(Codec, PassesTravel) {
  const auto hello = Returned(SampleOf<ClientHello>("client_hello_slots"));
  EXPECT_EQ(hello.passes, 3);
  EXPECT_TRUE(hello.settled);
  const auto answer = Returned(SampleOf<ClientAnswer>("client_answer_slots"));
  EXPECT_EQ(answer.run->passes, 3);
  EXPECT_FALSE(answer.run->settled);
  const auto plain = Returned(SampleOf<ClientAnswer>("client_answer"));
  EXPECT_EQ(plain.run->passes, 0);
  EXPECT_TRUE(plain.run->settled);
}

TEST(Codec, AHelloSaysWhetherItBeginsItsRun) {
  EXPECT_FALSE(Returned(SampleOf<ClientHello>("client_hello")).begins);
  EXPECT_TRUE(Returned(SampleOf<ClientHello>("client_hello_begins")).begins);
  const auto sequence =
      Returned(SampleOf<ClientHello>("client_hello_sequence"));
  EXPECT_EQ(sequence.sequencing, Sequencing::kIfWorth);
  EXPECT_EQ(sequence.number, 5000U);
  EXPECT_TRUE(
      Returned(SampleOf<WorkerBeat>("worker_beat_sequences")).sequences);
  EXPECT_TRUE(Returned(SampleOf<ClientAnswer>("client_answer_sequenced"))
                  .run->sequenced);
}

TEST(Codec, SharesTravelAndEmptySharesAreRefused) {
  auto hello = SampleOf<ClientHello>("client_hello");
  EXPECT_TRUE(Returned(hello).share.whole());
  hello.share = {3, 4};
  EXPECT_EQ(Returned(hello).share, hello.share);
  auto answer = SampleOf<WorkerAnswer>("worker_answer");
  answer.leases[0].share = {1, 2};
  EXPECT_EQ(Returned(answer).leases[0].share, (Share{1, 2}));
  auto waiting = SampleOf<ClientAnswer>("client_answer_planning");
  waiting.awaited = 5;
  waiting.awaited_ranks = {0, 3, kRanksMax};
  EXPECT_EQ(Returned(waiting).awaited, 5u);
  EXPECT_EQ(Returned(waiting).awaited_ranks, waiting.awaited_ranks);
  for (const Share bad : {Share{4, 4}, Share{0, 0}, Share{0, kRanksMax + 1}}) {
    hello.share = bad;
    EXPECT_FALSE(Decode(Encode(hello, kCluster), kCluster).ok());
    answer.leases[0].share = bad;
    EXPECT_FALSE(Decode(Encode(answer, kCluster), kCluster).ok());
  }
}

TEST(Codec, ClientHeartbeatHasAllItsFields) {
  const auto beat = SampleOf<ClientBeat>("client_beat");
  const ClientBeat back = Returned(beat);
  EXPECT_EQ(back.run, beat.run);
  EXPECT_EQ(back.session, beat.session);
  EXPECT_EQ(back.sent, beat.sent);
  ASSERT_EQ(back.splits.size(), 2u);
  EXPECT_EQ(back.splits[0].split, beat.splits[0].split);
  EXPECT_EQ(back.splits[0].taken, (Cursor{120, 1}));
  EXPECT_EQ(back.splits[0].out, (Cursor{110, 0}));
  EXPECT_EQ(back.seen, beat.seen);
}

TEST(Codec, ClientAnswerHasAllItsFields) {
  const auto answer = SampleOf<ClientAnswer>("client_answer");
  const ClientAnswer back = Returned(answer);
  EXPECT_EQ(back.beat_sent, answer.beat_sent);
  ASSERT_TRUE(back.run.has_value());
  EXPECT_EQ(back.run->run, RunNumber(3));
  EXPECT_EQ(back.run->iteration, 1u);
  EXPECT_EQ(back.run->seed, 7u);
  EXPECT_EQ(back.run->source_size, 60000u);
  EXPECT_EQ(back.run->positions, ~uint64_t{0});
  EXPECT_EQ(back.run->plan, PlanId("ab12"));
  EXPECT_EQ(back.run->source_round, 120000u);
  ASSERT_EQ(back.splits.size(), 2u);
  EXPECT_EQ(back.splits[0].leases, answer.splits[0].leases);
  EXPECT_EQ(back.splits[0].begin, (Cursor{100, 0}));
  EXPECT_EQ(back.splits[0].end, (Cursor{128, 0}));
  EXPECT_TRUE(back.splits[0].error.ok());
  EXPECT_EQ(back.splits[1].error, answer.splits[1].error);
  EXPECT_TRUE(back.exhausted);
  EXPECT_EQ(back.workers, 2u);
  EXPECT_EQ(back.heartbeat_interval, absl::Milliseconds(200));
  EXPECT_EQ(back.client_timeout, absl::InfiniteDuration());
  const auto planning =
      Returned(SampleOf<ClientAnswer>("client_answer_planning"));
  EXPECT_EQ(planning.beat_sent, std::nullopt);
  EXPECT_FALSE(planning.run.has_value());
}

TEST(Codec, WorkerHeartbeatHasAllItsFields) {
  const auto beat = SampleOf<WorkerBeat>("worker_beat");
  const WorkerBeat back = Returned(beat);
  EXPECT_EQ(back.worker, beat.worker);
  EXPECT_EQ(back.incarnation, beat.incarnation);
  EXPECT_EQ(back.slots, 4u);
  EXPECT_TRUE(back.draining);
  ASSERT_EQ(back.leases.size(), 2u);
  EXPECT_EQ(back.leases[1].split, beat.leases[1].split);
  EXPECT_EQ(back.leases[1].attempt, Attempt(3));
  EXPECT_EQ(back.plans, beat.plans);
  ASSERT_EQ(back.costs.size(), 1u);
  EXPECT_EQ(back.costs[0].positions, 64u);
  EXPECT_EQ(back.costs[0].bytes, 9600000u);
  EXPECT_EQ(back.costs[0].busy, absl::Milliseconds(45));
  ASSERT_EQ(back.failures.size(), 1u);
  EXPECT_EQ(back.failures[0].status, beat.failures[0].status);
  ASSERT_EQ(back.manifests.size(), 2u);
  EXPECT_EQ(back.manifests[0].manifest, "manifest bytes");
  EXPECT_EQ(back.manifests[1].status, beat.manifests[1].status);
}

TEST(Codec, WorkerAnswerHasAllItsFields) {
  const auto answer = SampleOf<WorkerAnswer>("worker_answer");
  const WorkerAnswer back = Returned(answer);
  ASSERT_EQ(back.leases.size(), 1u);
  EXPECT_EQ(back.leases[0].split, answer.leases[0].split);
  EXPECT_EQ(back.leases[0].session, answer.leases[0].session);
  EXPECT_EQ(back.leases[0].plan, PlanId("ab12"));
  EXPECT_EQ(back.leases[0].end, (Cursor{128, 0}));
  EXPECT_EQ(back.leases[0].attempt, Attempt(1));
  ASSERT_EQ(back.definitions.size(), 1u);
  EXPECT_EQ(back.definitions[0].manifest, "manifest");
  EXPECT_EQ(back.definitions[0].seed, 7u);
  EXPECT_EQ(back.definitions[0].iteration, 1u);
  ASSERT_EQ(back.manifests.size(), 1u);
  EXPECT_EQ(back.manifests[0].graph, "another graph");
  EXPECT_EQ(back.park_after, absl::Seconds(1));
  EXPECT_TRUE(back.drained);
}

TEST(Codec, LoadsHaveAllTheirFields) {
  const auto beat = SampleOf<ClientBeat>("client_beat_load");
  EXPECT_EQ(Returned(beat).load, beat.load);
  const auto skipped = SampleOf<ClientBeat>("client_beat_skipped");
  EXPECT_EQ(Returned(skipped).load, skipped.load);
  const auto cut_off = SampleOf<ClientBeat>("client_beat_unreachable");
  EXPECT_EQ(Returned(cut_off).load, cut_off.load);
  EXPECT_FALSE(Returned(SampleOf<ClientBeat>("client_beat")).load.has_value());
  const auto busy = SampleOf<WorkerBeat>("worker_beat_load");
  EXPECT_EQ(Returned(busy).load, busy.load);
  const auto faulty = SampleOf<WorkerBeat>("worker_beat_faults");
  EXPECT_EQ(Returned(faulty).load, faulty.load);
  EXPECT_FALSE(Returned(SampleOf<WorkerBeat>("worker_beat")).load.has_value());
}

TEST(Codec, FieldsForOperatorsMayBeAbsent) {
  EXPECT_EQ(Returned(SampleOf<WorkerBeat>("worker_beat_release")).release,
            "0.1.0");
  EXPECT_EQ(Returned(SampleOf<WorkerBeat>("worker_beat")).release, "");
  EXPECT_TRUE(
      Returned(SampleOf<StatusRequest>("status_request_events")).events);
  EXPECT_FALSE(Returned(StatusRequest{}).events);
}

TEST(Codec, LeasesOfInputsAreWeighed) {
  EXPECT_EQ(Returned(SampleOf<WorkerBeat>("worker_beat_complete")).complete,
            3U);
  EXPECT_EQ(Returned(SampleOf<WorkerBeat>("worker_beat")).complete, 0U);
  const auto deep = Returned(SampleOf<WorkerAnswer>("worker_answer_depth"));
  EXPECT_EQ(deep.leases.at(0).depth, 5U);
  EXPECT_EQ(
      Returned(SampleOf<WorkerAnswer>("worker_answer")).leases.at(0).depth, 0U);
}

TEST(Codec, AWorkerIsAnsweredTheNumberOfWorkers) {
  EXPECT_EQ(Returned(SampleOf<WorkerAnswer>("worker_answer_workers")).workers,
            7U);
  EXPECT_EQ(Returned(SampleOf<WorkerAnswer>("worker_answer")).workers, 0U);
}

TEST(Codec, InterpretersHaveAllTheirFields) {
  const auto beat = SampleOf<WorkerBeat>("worker_beat_python");
  EXPECT_TRUE(Returned(beat).allows_python);
  EXPECT_EQ(Returned(beat).python, beat.python);
  const WorkerBeat other = Returned(SampleOf<WorkerBeat>("worker_beat"));
  EXPECT_FALSE(other.allows_python);
  EXPECT_FALSE(other.python.has_value());
  EXPECT_TRUE(
      Returned(SampleOf<WorkerAnswer>("worker_answer_python")).python_known);
  EXPECT_FALSE(Returned(SampleOf<WorkerAnswer>("worker_answer")).python_known);
}

TEST(Codec, PackagesAreBoundedAndSorted) {
  WorkerBeat beat;
  beat.python = PythonInterpreter{"/p", "3.11.2", {"numpy==2", "arrow==1"}};
  EXPECT_FALSE(Decode(Encode(beat, kCluster), kCluster).ok());
  beat.python->packages.assign(kPythonPackagesMax, "numpy==2");
  EXPECT_TRUE(Decode(Encode(beat, kCluster), kCluster).ok());
  beat.python->packages.emplace_back("numpy==2");
  EXPECT_FALSE(Decode(Encode(beat, kCluster), kCluster).ok());
}

TEST(Codec, TracesHaveAllTheirFields) {
  const auto beat = SampleOf<ClientBeat>("client_beat_spans");
  EXPECT_EQ(Returned(beat).spans, beat.spans);
  EXPECT_FALSE(Returned(SampleOf<ClientBeat>("client_beat")).spans.has_value());
  const auto answer = SampleOf<ClientAnswer>("client_answer_tracing");
  EXPECT_EQ(Returned(answer).tracing, answer.tracing);
  const auto leave = SampleOf<ClientLeave>("client_leave_spans");
  EXPECT_EQ(Returned(leave).spans, leave.spans);
  const auto worker = SampleOf<WorkerBeat>("worker_beat_spans");
  EXPECT_EQ(Returned(worker).spans, worker.spans);
  const auto leases = Returned(SampleOf<WorkerAnswer>("worker_answer_tracing"));
  EXPECT_EQ(leases.tracing, answer.tracing);
  EXPECT_EQ(leases.leases.at(0).trace, 21);
  EXPECT_EQ(Returned(SampleOf<WorkerAnswer>("worker_answer")).leases[0].trace,
            0);
  const auto asked = SampleOf<StatusRequest>("status_request_trace").trace;
  const auto request = Returned(StatusRequest{asked}).trace;
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->job, asked->job);
  EXPECT_EQ(request->trace, asked->trace);
  EXPECT_TRUE(request->begin);
  EXPECT_EQ(request->duration, asked->duration);
  EXPECT_EQ(request->from, asked->from);
  EXPECT_FALSE(Returned(StatusRequest{}).trace.has_value());
  const auto told = SampleOf<StatusReply>("status_reply_trace").trace;
  const auto report = Returned(StatusReply{"", told}).trace;
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->status, told->status);
  EXPECT_EQ(report->now, told->now);
  EXPECT_EQ(report->begin, told->begin);
  EXPECT_EQ(report->end, told->end);
  EXPECT_TRUE(report->complete);
  EXPECT_EQ(report->first, told->first);
  EXPECT_EQ(report->spans, told->spans);
  EXPECT_EQ(report->processes, told->processes);
  EXPECT_EQ(report->places, told->places);
  EXPECT_EQ(report->lost, told->lost);
  EXPECT_EQ(report->waits_for, told->waits_for);
}

TEST(Codec, SmallMessagesHaveAllTheirFields) {
  const auto reject = Returned(SampleOf<ClientReject>("client_reject"));
  EXPECT_EQ(reject.reason, RejectReason::kRefused);
  EXPECT_EQ(ErrorText(reject.detail), "no component is named 'y'");
  EXPECT_FALSE(reject.later.has_value());
  ClientReject later = reject;
  later.later = {Incarnation(9), absl::Seconds(40)};
  later = Returned(later);
  EXPECT_EQ(later.later->life, Incarnation(9));
  EXPECT_EQ(later.later->met, absl::Seconds(40));
  const auto leave = Returned(SampleOf<ClientLeave>("client_leave"));
  EXPECT_EQ(leave.run, RunNumber(3));
  EXPECT_EQ(leave.why, LeaveReason::kLeft);
  EXPECT_EQ(Returned(SampleOf<ClientLeave>("client_leave_finished")).why,
            LeaveReason::kFinished);
  EXPECT_EQ(Returned(SampleOf<ClientLeave>("client_leave_finished")).load,
            SampleOf<ClientBeat>("client_beat_load").load);
  EXPECT_EQ(Returned(StatusReply{"{}"}).json, "{}");
  const auto grant = SampleOf<Grant>("grant");
  const Grant back = Returned(grant);
  EXPECT_EQ(back.split, grant.split);
  EXPECT_EQ(back.worker_incarnation, grant.worker_incarnation);
  EXPECT_EQ(back.attempt, grant.attempt);
  EXPECT_EQ(back.opening, Opening(2));
  EXPECT_EQ(back.start, (Cursor{104, 0}));
  EXPECT_EQ(back.total_bytes, 4u << 20);
  EXPECT_TRUE(back.head);
}

// Writers do not align empty vectors, and texts move all later fields.
TEST(Codec, TextsOfAnyLengthLeaveTheRestReadable) {
  for (size_t size = 0; size < 17; ++size) {
    WorkerBeat beat;
    beat.worker = WorkerId(std::string(size, 'w'));
    EXPECT_TRUE(Returned(beat).leases.empty());
    beat.leases = {{{JournalId(1), 2}, Attempt(3)}};
    EXPECT_EQ(Returned(beat).leases.at(0).attempt, Attempt(3));
    auto frame = SampleOf<Frame>("frame_runs");
    frame.worker = beat.worker;
    EXPECT_EQ(Returned(frame).piece.cursors, frame.piece.cursors);
  }
}

TEST(Codec, InfinityTravels) {
  for (const absl::Duration duration :
       {absl::InfiniteDuration(), -absl::InfiniteDuration(),
        absl::ZeroDuration()}) {
    WorkerAnswer answer;
    answer.park_after = duration;
    EXPECT_EQ(Returned(answer).park_after, duration);
  }
  for (const absl::Time time :
       {absl::InfiniteFuture(), absl::InfinitePast(), absl::UnixEpoch()}) {
    ClientBeat beat;
    beat.sent = time;
    EXPECT_EQ(Returned(beat).sent, time);
  }
}

TEST(Codec, FramesKeepTheirElementsAndNames) {
  for (const std::string name : {"frame_dense", "frame_ragged", "frame_runs",
                                 "frame_wide", "frame_empty"}) {
    const auto frame = SampleOf<Frame>(name);
    const Frame back = Returned(frame);
    EXPECT_EQ(back.session, frame.session);
    EXPECT_EQ(back.split, frame.split);
    EXPECT_EQ(back.worker, frame.worker);
    EXPECT_EQ(back.opening, frame.opening);
    EXPECT_EQ(back.piece.begin, frame.piece.begin);
    EXPECT_EQ(back.piece.end, frame.piece.end);
    EXPECT_EQ(back.piece.cursors, frame.piece.cursors);
    EXPECT_EQ(back.piece.error, frame.piece.error);
    EXPECT_EQ(Lines(back.piece.chunk), Lines(frame.piece.chunk)) << name;
    if (frame.piece.chunk.spec != nullptr) {
      EXPECT_EQ(*back.piece.chunk.spec, *frame.piece.chunk.spec);
    }
  }
}

// ---- copies

Frame WideFrame(size_t rows) {
  Piece piece;
  piece.end = {rows, 0};
  piece.chunk = WideChunk(rows);
  return FrameOf(std::move(piece));
}

TEST(Frame, LargeBuffersAreNeverCopied) {
  const Frame frame = WideFrame(64);
  const Parts parts = Encode(frame, kCluster);
  ASSERT_EQ(parts.size(), 3u);  // header, labels, rows
  EXPECT_EQ(parts[2].data(), frame.piece.chunk.columns[0].values.data());
  EXPECT_EQ(parts[2].size(), 64u << 10);
  const auto back = std::get<Frame>(*Decode(parts, kCluster));
  EXPECT_EQ(back.piece.chunk.columns[0].values.data(), parts[2].data());
  EXPECT_EQ(back.piece.chunk.columns[1].values.data(), parts[1].data());
}

TEST(Frame, SmallBuffersShareOnePart) {
  const Parts parts = Encode(WideFrame(63), kCluster);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].size(), (63u << 10) + 63 * 8);
}

TEST(Frame, ASliceTravelsWithoutTheRest) {
  Frame frame = WideFrame(200);
  frame.piece = frame.piece.From({190, 0});
  const Parts parts = Encode(frame, kCluster);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_LT(parts[1].size(), 11u << 10);
  EXPECT_EQ(Lines(Returned(frame).piece.chunk), Lines(frame.piece.chunk));
}

TEST(Frame, UnalignedPartsAreReadToo) {
  for (const Sample& sample : SampleMessages()) {
    const Parts parts = Encode(sample.message, kCluster);
    for (const size_t shift : std::vector<size_t>{1, 4}) {
      Parts shifted;
      for (const Buffer& part : parts) {
        shifted.push_back(BufferOf(Bytes(shift, 'x') + BytesOf(part))
                              .Slice(shift, part.size()));
      }
      const auto decoded = Decode(shifted, kCluster);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(Joined(Encode(*decoded, kCluster)), Joined(parts));
    }
  }
}

// ---- refused messages

TEST(Envelope, AnotherVersionIsNamed) {
  const auto refusal = [](uint32_t version) {
    const Parts parts = Handmade(version, [](Builder& builder) {
      return std::pair(fb::Body(200), fb::CreateStatusRequest(builder).Union());
    });
    return Decode(parts, kCluster).status();
  };
  EXPECT_EQ(refusal(kProtocolVersion + 1).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorText(refusal(kProtocolVersion + 1)),
              HasSubstr("version 5, this process 4: upgrade this process"));
  EXPECT_THAT(ErrorText(refusal(kProtocolVersion - 1)),
              HasSubstr("version 3, this process 4: upgrade the peer"));
}

TEST(Envelope, AnotherClusterIsNamed) {
  const auto status =
      Decode(Encode(StatusRequest{}, "theirs"), "ours").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorText(status), HasSubstr("'theirs', this process to 'ours'"));
}

TEST(Envelope, UnknownKindsAreRefused) {
  for (const int kind : {0, 15, 255}) {
    const Parts parts = Handmade(kProtocolVersion, [&](Builder& builder) {
      return std::pair(fb::Body(kind),
                       fb::CreateStatusRequest(builder).Union());
    });
    EXPECT_EQ(CodeOf(parts), absl::StatusCode::kInvalidArgument) << kind;
  }
}

TEST(Envelope, EveryDamagedByteOfAHeaderIsNoticed) {
  const Parts parts = Encode(SampleOf<Grant>("grant"), kCluster);
  const Bytes header = BytesOf(parts[0]);
  for (size_t at = 0; at < header.size(); ++at) {
    Bytes damaged = header;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_EQ(CodeOf({BufferOf(damaged)}), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Envelope, GarbageIsRefused) {
  EXPECT_EQ(CodeOf({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf({Buffer()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Sealed(Parts(1), "")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Sealed(Parts(1), "hello, world: no envelope")),
            absl::StatusCode::kInvalidArgument);
}

// Only the final padding may be missing.
TEST(Envelope, ShortenedHeadersAreRefused) {
  for (const Sample& sample : SampleMessages()) {
    const Parts parts = Encode(sample.message, kCluster);
    const Bytes header = HeaderOf(parts);
    for (size_t size = 0; size < header.size(); ++size) {
      const auto decoded =
          Decode(Sealed(parts, header.substr(0, size)), kCluster);
      if (!decoded.ok()) continue;
      EXPECT_GT(size, header.size() - 8);
      EXPECT_EQ(Joined(Encode(*decoded, kCluster)), Joined(parts));
    }
  }
}

// With a valid checksum a changed header may have another meaning, but never
// breaks a guarantee or causes reads outside.
TEST(Envelope, ChangedHeadersAreRefusedOrSound) {
  const int flips[] = {0x01, 0x80, 0xff};
  for (const Sample& sample : SampleMessages()) {
    const Parts parts = Encode(sample.message, kCluster);
    const Bytes header = HeaderOf(parts);
    for (size_t at = 0; at < header.size(); ++at) {
      Bytes changed = header;
      changed[at] = static_cast<char>(changed[at] ^ flips[at % 3]);
      const auto decoded = Decode(Sealed(parts, changed), kCluster);
      if (!decoded.ok() || !std::holds_alternative<Frame>(*decoded)) continue;
      const Piece& piece = std::get<Frame>(*decoded).piece;
      ASSERT_TRUE(piece.Validate().ok());
      Lines(piece.chunk);
    }
  }
}

TEST(Envelope, UnknownEnumValuesAreRefused) {
  ClientReject reject;
  for (const int value : {0, 5, 255}) {
    reject.reason = static_cast<RejectReason>(value);
    EXPECT_EQ(CodeOf(Encode(reject, kCluster)),
              absl::StatusCode::kInvalidArgument);
  }
  const Parts status = Handmade(kProtocolVersion, [](Builder& builder) {
    const auto bad = fb::CreateStatus(builder, 17, 0);
    return std::pair(fb::Body::Refusal,
                     fb::CreateRefusal(builder, bad).Union());
  });
  EXPECT_EQ(CodeOf(status), absl::StatusCode::kInvalidArgument);
}

// A text named a million times would need gigabytes once copied.
TEST(Envelope, WeightsOfNothingAreRefused) {
  Grant grant = SampleOf<Grant>("grant_weight");
  EXPECT_EQ(Returned(grant).weight, 250u);
  for (const uint32_t weight : {0u, kWeightMax + 1}) {
    grant.weight = weight;
    EXPECT_FALSE(Decode(Encode(grant, kCluster), kCluster).ok()) << weight;
  }
}

TEST(Envelope, TextsThatAreNamedManyTimesAreRefused) {
  const Parts parts = Handmade(kProtocolVersion, [](Builder& builder) {
    const auto text = builder.CreateString(std::string(10000, 'x'));
    const std::vector<flatbuffers::Offset<flatbuffers::String>> plans(1000,
                                                                      text);
    const auto all = builder.CreateVector(plans);
    const auto leases = builder.CreateVectorOfStructs<fb::HeldLease>({});
    const auto none =
        builder.CreateVector<flatbuffers::Offset<fb::PlanCost>>({});
    const auto failures =
        builder.CreateVector<flatbuffers::Offset<fb::LeaseFailure>>({});
    const auto manifests =
        builder.CreateVector<flatbuffers::Offset<fb::ManifestResult>>({});
    const fb::Seen seen(1, 1);
    return std::pair(fb::Body::WorkerBeat,
                     fb::CreateWorkerBeat(builder, text, 1, 1, false, leases,
                                          all, none, failures, manifests, &seen)
                         .Union());
  });
  EXPECT_THAT(ErrorText(Decode(parts, kCluster).status()),
              HasSubstr("many times"));
}

TEST(Frame, PartsMustBeThereAndUsed) {
  const Parts parts = Encode(WideFrame(64), kCluster);
  Parts fewer = parts;
  fewer.pop_back();
  EXPECT_EQ(CodeOf(fewer), absl::StatusCode::kInvalidArgument);
  Parts more = parts;
  more.push_back(BufferOf("one more"));
  EXPECT_EQ(CodeOf(more), absl::StatusCode::kInvalidArgument);
  Parts control = Encode(StatusRequest{}, kCluster);
  control.push_back(BufferOf("one more"));
  EXPECT_EQ(CodeOf(control), absl::StatusCode::kInvalidArgument);
  for (size_t part = 1; part < parts.size(); ++part) {
    Parts shorter = parts;
    shorter[part] = parts[part].Slice(0, parts[part].size() - 1);
    EXPECT_EQ(CodeOf(shorter), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Frame, BuffersThatLeadOutsideAreRefused) {
  const Parts parts = Encode(SampleOf<Frame>("frame_ragged"), kCluster);
  ASSERT_EQ(parts.size(), 2u);
  // Part 1 holds the offsets and starts of the ragged columns.
  size_t refused = 0;
  for (size_t at = 0; at < parts[1].size(); at += 8) {
    Bytes changed = BytesOf(parts[1]);
    changed[std::min(at + 7, changed.size() - 1)] ^= 0x40;
    const auto decoded = Decode({parts[0], BufferOf(changed)}, kCluster);
    if (!decoded.ok()) {
      ++refused;
      continue;
    }
    Lines(std::get<Frame>(*decoded).piece.chunk);
  }
  EXPECT_GT(refused, 30u);
}

TEST(Frame, RowsMustHaveNamesInTheInterval) {
  auto frame = SampleOf<Frame>("frame_dense");
  frame.piece.end = {104, 0};
  EXPECT_EQ(CodeOf(Encode(frame, kCluster)),
            absl::StatusCode::kInvalidArgument);
  frame = SampleOf<Frame>("frame_runs");
  frame.piece.begin = {301, 0};
  EXPECT_EQ(CodeOf(Encode(frame, kCluster)),
            absl::StatusCode::kInvalidArgument);
}

TEST(Frame, TheSkippedElementIsTheLastOfTheInterval) {
  const auto sound = SampleOf<Frame>("frame_skipped");
  const auto code = [&](const std::function<void(Piece&)>& change) {
    Frame frame = sound;
    change(frame.piece);
    return CodeOf(Encode(frame, kCluster));
  };
  EXPECT_EQ(code([](Piece&) {}), absl::StatusCode::kOk);
  for (const Cursor wrong : {Cursor{199, 0}, Cursor{209, 0}, Cursor{203, 0}}) {
    EXPECT_EQ(code([&](Piece& piece) { piece.skipped->cursor = wrong; }),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code([](Piece& piece) { piece.error = DataLoss("too"); }),
            absl::StatusCode::kInvalidArgument);
}

TEST(States, AreRefusedIfTheyAreTooLargeOrDoNotLeadToTheirPlace) {
  const auto code = [](Cursor at, size_t bytes) {
    const auto state = std::make_shared<const GeneratorState>(
        GeneratorState{at, std::string(bytes, 's')});
    auto frame = SampleOf<Frame>("frame_state");
    frame.piece.end = {302, 5};
    frame.piece.state = state;
    auto grant = SampleOf<Grant>("grant_state");
    grant.start = {302, 5};
    grant.state = state;
    const absl::StatusCode of_frame = CodeOf(Encode(frame, kCluster));
    EXPECT_EQ(CodeOf(Encode(grant, kCluster)), of_frame);
    return of_frame;
  };
  EXPECT_EQ(code({302, 5}, kRowStateMax), absl::StatusCode::kOk);
  EXPECT_EQ(code({302, 0}, 0), absl::StatusCode::kOk);
  for (const Cursor wrong : {Cursor{302, 6}, Cursor{301, 0}, Cursor{303, 0}}) {
    EXPECT_EQ(code(wrong, 1), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code({302, 5}, kRowStateMax + 1),
            absl::StatusCode::kInvalidArgument);
}

TEST(Frame, ComponentsMustHaveNamesOfTheirOwn) {
  for (const std::string name : {"", "x"}) {
    auto frame = SampleOf<Frame>("frame_dense");
    auto spec = std::make_shared<ElementSpec>(*frame.piece.chunk.spec);
    spec->components[0].name = name;
    frame.piece.chunk.spec = spec;
    EXPECT_EQ(CodeOf(Encode(frame, kCluster)),
              absl::StatusCode::kInvalidArgument);
  }
}

// ---- golden frames: the bytes of this version, which must not change
//
// FEEDMILL_WRITE_GOLDEN=1 wire_test --gtest_filter=Golden.* writes them.
// Existing ones may change only with a new protocol version.

TEST(Golden, FramesAreTheseBytes) {
  for (const Sample& sample : SampleMessages()) {
    const Bytes encoded = Joined(Encode(sample.message, kCluster));
    testing::ExpectGolden(std::string(sample.name) + ".bin", encoded);
    const auto decoded = Decode(PartsOf(encoded), kCluster);
    ASSERT_TRUE(decoded.ok()) << sample.name << ": " << decoded.status();
    EXPECT_EQ(Joined(Encode(*decoded, kCluster)), encoded);
  }
}

}  // namespace
}  // namespace feedmill
