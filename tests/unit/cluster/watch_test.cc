// Clusters that change while they are polled, unions and plugins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "core/base/status.h"
#include "core/cluster/cluster_watch.h"
#include "core/cluster/host_context.h"
#include "core/cluster/plugin_resolver.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A cluster that a test changes while a ClusterWatch polls it.
class ChangingResolver : public ClusterResolver {
 public:
  absl::StatusOr<ClusterView> Resolve() const override {
    const std::lock_guard lock(mu_);
    ++looks_;
    looked_.notify_all();
    if (!trouble_.ok()) return trouble_;
    auto spec = ClusterSpec::FromYaml(yaml_);
    if (!spec.ok()) return spec.status();
    ClusterView view;
    view.spec = *std::move(spec);
    return view;
  }
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest&) const override {
    return AcceleratorCounts();
  }

  void Become(std::string yaml, absl::Status trouble = absl::OkStatus()) {
    const std::lock_guard lock(mu_);
    yaml_ = std::move(yaml);
    trouble_ = std::move(trouble);
  }
  // Waits for the first poll, which may be over.
  void AwaitLook() {
    std::unique_lock lock(mu_);
    looked_.wait(lock, [&] { return looks_ > 0; });
  }
  void AwaitLooks(int more) {
    std::unique_lock lock(mu_);
    looked_.wait(lock,
                 [&, wanted = looks_ + more] { return looks_ >= wanted; });
  }

 private:
  mutable std::mutex mu_;
  mutable std::condition_variable looked_;
  mutable int looks_ = 0;
  std::string yaml_ = "{}";
  absl::Status trouble_;
};

// The reports of a ClusterWatch, in order.
class Told {
 public:
  ClusterWatchOptions Options() {
    ClusterWatchOptions options;
    options.interval = absl::Milliseconds(1);
    options.on_change = [this](const ClusterView&,
                               const std::vector<ClusterChange>& changes) {
      for (const ClusterChange& change : changes) Add(ToString(change));
    };
    options.on_trouble = [this](const absl::Status& status) {
      Add(ErrorText(status));
    };
    return options;
  }
  std::string Next() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return at_ < told_.size(); });
    return told_[at_++];
  }
  size_t left() {
    const std::lock_guard lock(mu_);
    return told_.size() - at_;
  }

 private:
  void Add(std::string text) {
    const std::lock_guard lock(mu_);
    told_.push_back(std::move(text));
    changed_.notify_all();
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  size_t at_ = 0;
};

TEST(ClusterWatch, TellsOfTasksThatComeGoAndMove) {
  const auto resolver = std::make_shared<ChangingResolver>();
  resolver->Become("{worker: {0: a:1, 3: d:1}}");
  Told told;
  ClusterWatch watch(resolver, told.Options());
  EXPECT_EQ(told.Next(), "worker/0 came at a:1");
  EXPECT_EQ(told.Next(), "worker/3 came at d:1");
  resolver->Become("{worker: {0: b:1}, ps: [p:1]}");
  EXPECT_EQ(told.Next(), "ps/0 came at p:1");
  EXPECT_EQ(told.Next(), "worker/0 moved from a:1 to b:1");
  EXPECT_EQ(told.Next(), "worker/3 went from d:1");
  resolver->AwaitLooks(3);  // no change, no report
  watch.Stop();
  EXPECT_EQ(told.left(), 0u);
}

TEST(ClusterWatch, KeepsTheClusterWhileLookupsFail) {
  const auto resolver = std::make_shared<ChangingResolver>();
  resolver->Become("{w: [a:1]}");
  Told told;
  ClusterWatchOptions options = told.Options();
  options.known = *ClusterSpec::FromYaml("{w: [a:1]}");
  ClusterWatch watch(resolver, options);
  resolver->AwaitLooks(2);
  resolver->Become("", Unavailable("no answer"));
  EXPECT_EQ(told.Next(), "no answer");
  resolver->AwaitLooks(3);  // the same error again is not reported
  resolver->Become("", Unavailable("no route"));
  EXPECT_EQ(told.Next(), "no route");
  resolver->Become("{w: [a:1, b:1]}");
  EXPECT_EQ(told.Next(), "w/1 came at b:1");
}

TEST(ClusterWatch, StopsFromAnywhereAndTellsNothingMore) {
  const auto resolver = std::make_shared<ChangingResolver>();
  resolver->Become("{w: [a:1]}");
  ClusterWatch* watch = nullptr;
  std::mutex mu;
  int calls = 0;
  ClusterWatchOptions options;
  options.interval = absl::Milliseconds(1);
  options.on_change = [&](const ClusterView&,
                          const std::vector<ClusterChange>&) {
    const std::lock_guard lock(mu);
    ++calls;
    watch->Stop();  // from its own thread: only a request
  };
  {
    std::unique_lock lock(mu);
    ClusterWatch stopping(resolver, options);
    watch = &stopping;
    lock.unlock();
    resolver->AwaitLook();
    stopping.Stop();
    stopping.Stop();
    resolver->Become("{}");
  }
  EXPECT_LE(calls, 1);
  // A ClusterWatch that sleeps long stops at once; otherwise the test times
  // out.
  ClusterWatchOptions idle;
  idle.interval = absl::Hours(10);
  ClusterWatch sleeping(resolver, idle);
}

TEST(Unions, AreUrisOfUris) {
  const ResolverContext context{
      Environment(std::map<std::string, std::string>{
          {"FEEDMILL_CLUSTER", R"({"worker": ["a:1"], "ps": ["p:1"]})"}}),
      [](const std::string& path) -> absl::StatusOr<std::string> {
        if (path == "b.yaml") return std::string("worker: [b:1]");
        return NotFound("there is no file {}", path);
      },
      [] { return absl::StatusOr<DeviceListing>(DeviceListing()); }};
  const ResolverRegistry registry = BuiltinResolvers();
  const auto shown = [&](const char* uri) {
    const auto made = registry.Make(uri, context);
    if (!made.ok()) return ErrorText(made.status());
    const auto view = (*made)->Resolve();
    if (!view.ok()) return ErrorText(view.status());
    return fmt::format("{} {}", view->spec.ToString(),
                       view->task_type.value_or("-"));
  };
  EXPECT_EQ(shown("union:?1=env%3A&2=file%3Ab.yaml&job=worker&task=0"),
            "ClusterSpec({'ps': ['p:1'], 'worker': ['a:1', 'b:1']}) worker");
  EXPECT_EQ(shown("union:?b=file%3Ab.yaml%3Fjob%3Dworker%26task%3D0"),
            "ClusterSpec({'worker': ['b:1']}) worker");
  EXPECT_THAT(shown("union:"), HasSubstr("at least one"));
  EXPECT_THAT(shown("union:x"), HasSubstr("takes no path"));
  EXPECT_THAT(shown("union:?1=evn%3A"), HasSubstr("part '1': "));
  EXPECT_THAT(shown("union:?1=evn%3A"), HasSubstr("did you mean \"env\"?"));
  EXPECT_THAT(shown("union:?1=union%3A%3F1%3Denv%3A"),
              HasSubstr("a union of unions"));
  EXPECT_THAT(shown("union:?1=file%3Anone"), HasSubstr("no file none"));
  ResolverRegistry other;
  EXPECT_TRUE(absl::IsInvalidArgument(other.Add("union", nullptr)));
}

TEST(Plugins, AddASchemeFromASharedObject) {
  ResolverRegistry registry = BuiltinResolvers();
  const Environment environment(std::map<std::string, std::string>{
      {"FEEDMILL_RESOLVER_PLUGINS", ":" FEEDMILL_EXAMPLE_PLUGIN}});
  const absl::Status added = AddResolverPlugins(environment, &registry);
  ASSERT_TRUE(added.ok()) << added;
  const auto made =
      registry.Make("example:mill?workers=2&job=worker&task=1", HostContext());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*(*made)->Master(), "mill-1:1");
  EXPECT_EQ((*made)->Spec()->ToString(),
            "ClusterSpec({'dispatcher': ['mill:1'], 'worker': ['mill-0:1', "
            "'mill-1:1']})");
  const auto bad = registry.Make("example:mill?workers=0", HostContext());
  EXPECT_TRUE(absl::IsUnavailable((*bad)->Spec().status()));
  EXPECT_EQ(ErrorText((*bad)->Spec().status()),
            "example:mill?workers=0: workers are 1 or more");
  const auto odd = registry.Make("example:a b", HostContext());
  EXPECT_THAT(ErrorText((*odd)->Spec().status()), HasSubstr("example:a%20b"));
  EXPECT_THAT(ErrorText(AddResolverPlugins(environment, &registry)),
              HasSubstr("has a resolver already"));
}

TEST(Plugins, AnInvalidPluginIsAnErrorThatNamesIt) {
  ResolverRegistry registry;
  const absl::Status none = AddResolverPlugin("/no/such.so", &registry);
  EXPECT_TRUE(absl::IsInvalidArgument(none));
  EXPECT_THAT(ErrorText(none), HasSubstr("cannot load the plugin /no/such.so"));
  const absl::Status other = AddResolverPlugin(FEEDMILL_NO_PLUGIN, &registry);
  EXPECT_THAT(ErrorText(other), HasSubstr("feedmill_resolver_plugin_v1"));
  EXPECT_THAT(registry.Schemes(), ElementsAre("union"));
}

}  // namespace
}  // namespace feedmill
