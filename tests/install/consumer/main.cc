// A program of a user of the library: squares of a range, read in this process
// and through a service, with nothing but public headers. All of them compile
// beside each other.
#include <feedmill/cluster.h>
#include <feedmill/dataset.h>
#include <feedmill/dataset_options.h>
#include <feedmill/dispatcher.h>
#include <feedmill/element.h>
#include <feedmill/endpoint.h>
#include <feedmill/expr.h>
#include <feedmill/loader.h>
#include <feedmill/plugin.h>
#include <feedmill/reader.h>
#include <feedmill/resolver.h>
#include <feedmill/server.h>
#include <feedmill/status.h>
#include <feedmill/token.h>
#include <feedmill/worker.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", feedmill::ErrorText(status).c_str());
  return 1;
}

// Prints the elements, and a line that a token resumes after the second one.
absl::Status Print(const feedmill::Dataset& dataset,
                   const std::string& service) {
  auto reader = feedmill::Read(dataset, {.service = service});
  if (!reader.ok()) return reader.status();
  const auto x = (*reader)->Column<int64_t>();
  if (!x.ok()) return x.status();
  std::string token;
  for (const feedmill::Element element : **reader) {
    std::printf("%lld ", static_cast<long long>(x->Get(element)));
    if (!token.empty()) continue;
    auto saved = (*reader)->Save();
    if (!saved.ok()) return saved.status();
    token = *saved;
  }
  if (!(*reader)->status().ok()) return (*reader)->status();
  auto rest =
      feedmill::Read(dataset, {.service = service, .resume = {.token = token}});
  if (!rest.ok()) return rest.status();
  size_t left = 0;
  for (const feedmill::Chunk& chunk : (*rest)->chunks()) left += chunk.rows;
  std::printf("and %zu after the first\n", left);
  return (*rest)->status();
}

// Reads with the settings that users fill: functions of plugins, and a profile.
absl::Status Measure(const feedmill::Dataset& dataset) {
  const auto functions = feedmill::LoadFunctions({});
  if (!functions.ok()) return functions.status();
  const auto profile = std::make_shared<feedmill::Profile>();
  {
    auto reader = feedmill::Read(
        dataset, {.hooks = {.registry = *functions, .profile = profile}});
    if (!reader.ok()) return reader.status();
    for (const feedmill::Chunk& chunk : (*reader)->chunks()) {
      if (chunk.rows == 0) return absl::InternalError("an empty chunk");
    }
    if (!(*reader)->status().ok()) return (*reader)->status();
  }
  const auto text = profile->ToText();
  if (!text.ok()) return text.status();
  std::fputs(text->c_str(), stderr);
  return absl::OkStatus();
}

}  // namespace

int main() {
  auto dataset = feedmill::Dataset::FromYaml(
      "source: {range: {stop: 5}}\nsteps: [{map: \"x * x\"}]\n");
  if (!dataset.ok()) return Fail(dataset.status());
  if (absl::Status printed = Print(*dataset, ""); !printed.ok()) {
    return Fail(printed);
  }
  if (absl::Status measured = Measure(*dataset); !measured.ok()) {
    return Fail(measured);
  }
  auto server = feedmill::Server::CreateLocalServer();
  if (!server.ok()) return Fail(server.status());
  const absl::Status printed = Print(dataset->Repeat(1), (*server)->target());
  if (!printed.ok()) return Fail(printed);
  auto resolvers = feedmill::AllResolvers();
  if (!resolvers.ok()) return Fail(resolvers.status());
  auto resolver = resolvers->Make("env:", feedmill::HostContext());
  return resolver.ok() ? 0 : Fail(resolver.status());
}
