#include "core/wire/cluster_codec.h"

#include <cstring>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/wire/field_reader.h"
#include "core/wire/field_writer.h"
#include "feedmill/cluster.h"
#include "schemas/server_generated.h"

namespace feedmill {
namespace {

using wire::Builder;
using wire::FieldReader;
using wire::Offset;

constexpr size_t kBytesMax = size_t{16} << 20;  // the same limit as for texts
constexpr unsigned kDepthMax = 8;
constexpr unsigned kTablesMax = 1 << 20;

// ---- writing
Offset<fb::JobDef> Put(Builder& builder, const ClusterDef::Job& job) {
  std::vector<Offset<fb::TaskDef>> tasks;
  for (const auto& [index, address] : job.tasks) {
    tasks.push_back(
        fb::CreateTaskDef(builder, index, wire::Put(builder, address)));
  }
  const auto written = builder.CreateVector(tasks);
  return fb::CreateJobDef(builder, wire::Put(builder, job.name), written);
}

Offset<fb::ClusterDef> Put(Builder& builder, const ClusterDef& def) {
  return fb::CreateClusterDef(
      builder, wire::PutAll(builder, def.jobs, [&](const ClusterDef::Job& job) {
        return Put(builder, job);
      }));
}

// Returns null, which leaves the field out, if `text` is empty.
Offset<flatbuffers::String> PutUnlessEmpty(Builder& builder,
                                           const std::string& text) {
  return text.empty() ? 0 : wire::Put(builder, text);
}

std::string Finished(const Builder& builder) {
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                     builder.GetSize());
}

// ---- reading
// Verifies that the bytes hold a `Table`. Returns an aligned copy.
template <class Table>
absl::StatusOr<std::vector<uint64_t>> Verified(std::string_view bytes,
                                               const char* identifier,
                                               const char* what) {
  if (bytes.size() > kBytesMax) {
    return InvalidArgument("{} of {} bytes is over the limit of {}", what,
                           bytes.size(), kBytesMax);
  }
  std::vector<uint64_t> aligned(bytes.size() / sizeof(uint64_t) + 1);
  if (!bytes.empty()) std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kDepthMax, kTablesMax);
  if (verifier.VerifyBuffer<Table>(identifier)) return aligned;
  const bool known = bytes.size() >= 2 * sizeof(flatbuffers::uoffset_t) &&
                     flatbuffers::BufferHasIdentifier(data, identifier);
  return InvalidArgument(
      "{} bytes are no {}: they {}", bytes.size(), what,
      known ? "were cut short or damaged"
            : fmt::format("do not have its mark '{}'", identifier));
}

absl::StatusOr<ClusterDef> Read(FieldReader& reader,
                                const fb::ClusterDef& wire) {
  ClusterDef def;
  absl::Status twice;
  def.jobs = reader.All(wire.jobs(), [&](const fb::JobDef* job) {
    ClusterDef::Job read{reader.Text(job->name()), {}};
    const auto tasks = reader.All(job->tasks(), [&](const fb::TaskDef* task) {
      return std::pair(task->index(), reader.Text(task->address()));
    });
    for (const auto& [index, address] : tasks) {
      if (read.tasks.emplace(index, address).second || !twice.ok()) continue;
      twice =
          InvalidArgument("job '{}': task {} is there twice", read.name, index);
    }
    return read;
  });
  FM_RETURN_IF_ERROR(reader.error());
  FM_RETURN_IF_ERROR(twice);
  FM_RETURN_IF_ERROR(ClusterSpec::FromDef(def).status());
  return def;
}

}  // namespace

std::string EncodeClusterDef(const ClusterDef& def) {
  Builder builder;
  fb::FinishClusterDefBuffer(builder, Put(builder, def));
  return Finished(builder);
}

std::string EncodeServerDef(const ServerDef& def) {
  Builder builder;
  const auto cluster = Put(builder, def.cluster);
  const auto job = PutUnlessEmpty(builder, def.job_name);
  const auto protocol = PutUnlessEmpty(builder, def.protocol);
  fb::ServerDefBuilder server(builder);
  server.add_cluster(cluster);
  server.add_job_name(job);
  if (def.task_index.has_value()) server.add_task_index(*def.task_index);
  server.add_protocol(protocol);
  server.add_port(def.port);
  fb::FinishServerDefBuffer(builder, server.Finish());
  return Finished(builder);
}

absl::StatusOr<ClusterDef> DecodeClusterDef(std::string_view bytes) {
  FM_ASSIGN_OR_RETURN(const std::vector<uint64_t> aligned,
                      Verified<fb::ClusterDef>(
                          bytes, fb::ClusterDefIdentifier(), "ClusterDef"));
  FieldReader reader(bytes.size());
  return Read(reader, *fb::GetClusterDef(aligned.data()));
}

absl::StatusOr<ServerDef> DecodeServerDef(std::string_view bytes) {
  FM_ASSIGN_OR_RETURN(
      const std::vector<uint64_t> aligned,
      Verified<fb::ServerDef>(bytes, fb::ServerDefIdentifier(), "ServerDef"));
  const fb::ServerDef& wire = *fb::GetServerDef(aligned.data());
  FieldReader reader(bytes.size());
  ServerDef def;
  FM_ASSIGN_OR_RETURN(def.cluster, Read(reader, *wire.cluster()));
  def.job_name = reader.Text(wire.job_name());
  if (wire.task_index().has_value()) def.task_index = *wire.task_index();
  def.protocol = reader.Text(wire.protocol());
  def.port = wire.port();
  FM_RETURN_IF_ERROR(reader.error());
  return def;
}

}  // namespace feedmill
