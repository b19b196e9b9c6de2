#include "broker/autoscaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

// The autoscaler against a simulated service: readers, workers and a bound
// between them, with noise, workers that take time to start and to drain, and
// gaps between epochs.

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr double kNoLimit = 1e12;

// Elements per second, if nothing else limits.
struct Situation {
  std::string name;
  double trainer = kNoLimit;
  double worker = 100;
  double source = kNoLimit;  // of all workers together; they block meanwhile
  double link = kNoLimit;    // of all workers together; they are idle meanwhile
  double cores = kNoLimit;   // workers that run at a time; the others wait
  double lump = 0;  // seconds of a worker's time in what it sends at once
  // Lumps that a worker takes at a time. They are numbered, and readers take
  // them in order, while workers work ahead. 0: readers take any.
  size_t lease = 0;
  BoundBy bound = BoundBy::kStep;
};

double CapacityOf(const Situation& at, uint64_t workers) {
  return std::min({at.worker * std::min(static_cast<double>(workers), at.cores),
                   at.source, at.link});
}

double RateOf(const Situation& at, uint64_t workers) {
  return std::min(at.trainer, CapacityOf(at, workers));
}

// The smallest number with which the trainer waits 5 % of its time at most or
// is as fast as with any number.
uint64_t HandTuned(const Situation& at, uint64_t most) {
  const double best = 0.95 * RateOf(at, most);
  uint64_t workers = 1;
  while (workers < most && RateOf(at, workers) < best) ++workers;
  return workers;
}

// Part of the workers' threads that has work.
double BusyOf(const Situation& at, uint64_t workers) {
  if (workers == 0) return 0;
  const double rate = RateOf(at, workers);
  const bool blocked = rate >= std::min(at.source, at.worker * at.cores) - 1e-6;
  if (blocked) return 1;
  return rate / (at.worker * static_cast<double>(workers));
}

// A service that does as the autoscaler says, a second at a time.
class Service {
 public:
  Service(uint32_t seed, uint64_t workers, ScaleSettings settings)
      : random_(seed),
        settings_(settings),
        scaler_(settings),
        workers_(workers) {}

  void Set(std::vector<Situation> jobs) {
    jobs_ = std::move(jobs);
    sums_.resize(jobs_.size());
    lumps_.resize(jobs_.size());
  }
  // Begins a new autoscaler, as a dispatcher that is started again does; with
  // what the former one found, or without. The workers are there at once.
  void Restart(bool remembers) {
    const ScaleMemory memory = scaler_.Remember();
    scaler_ = Autoscaler(settings_);
    if (remembers) scaler_.Restore(now_, memory);
    wanted_.clear();
  }
  void SetWorkers(uint64_t workers) { workers_ = workers; }
  void SetNoise(double noise) { noise_ = noise; }
  void Freeze() { acts_ = false; }
  void Run(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end;) PassSecond();
  }
  uint64_t workers() const { return workers_; }
  const Autoscaler& scaler() const { return scaler_; }
  // Numbers that were wanted, one after the other.
  const std::vector<uint64_t>& wanted() const { return wanted_; }

 private:
  double Noise() {
    return std::max(0.2, std::normal_distribution<double>(1, noise_)(random_));
  }
  bool Chance(double part) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < part;
  }

  void PassSecond() {
    now_ += absl::Seconds(1);
    ScaleFigures figures;
    figures.workers = workers_;
    // Jobs share the workers evenly, and take what others leave.
    double busy = 0;
    double left = 1;
    for (size_t k = 0; k < jobs_.size(); ++k) {
      Situation at = jobs_[k];
      at.worker *= (left / static_cast<double>(jobs_.size() - k)) * Noise();
      const bool gap = noise_ > 0 && Chance(0.02);  // between two epochs
      double rate = workers_ == 0 ? 0 : RateOf(at, workers_) * (gap ? 0.5 : 1);
      double part =
          BusyOf(at, workers_) * at.worker / jobs_[k].worker * (gap ? 0.7 : 1);
      if (at.lump > 0) {
        const Second second =
            MakeLumps(jobs_[k], at.worker / jobs_[k].worker, lumps_[k]);
        rate = second.elements;
        part = second.busy;
      }
      Sums& sums = sums_[k];
      sums.elements += rate;
      sums.reader_s += 1;
      sums.waited_s += std::clamp(1 - rate / at.trainer, 0.0, 1.0);
      left = std::max(0.01, left - part);
      busy += part;
      figures.jobs.push_back(
          {at.name, 1, sums.reader_s, sums.waited_s,
           static_cast<uint64_t>(sums.elements),
           Average(sums.parts, part) * static_cast<double>(workers_),
           at.bound});
    }
    figures.busy = Average(busy_, std::clamp(busy, 0.0, 1.0));
    if (scaler_.Due(now_, workers_) && scaler_.Look(now_, figures)) {
      wanted_.push_back(*scaler_.workers_wanted());
    }
    if (acts_) Act();
  }

  // Average of the last five seconds, as in the dispatcher's windows.
  static double Average(std::deque<double>& last, double value) {
    last.push_back(value);
    if (last.size() > 5) last.pop_front();
    return std::accumulate(last.begin(), last.end(), 0.0) /
           static_cast<double>(last.size());
  }

  // Workers start one after the other, each within 8 s; they drain likewise.
  void Act() {
    if (!scaler_.workers_wanted().has_value()) return;
    const uint64_t wanted = *scaler_.workers_wanted();
    if (workers_ < wanted && Chance(0.3)) {
      workers_ += std::max<uint64_t>(1, (wanted - workers_) / 2);
    }
    if (workers_ > wanted && Chance(0.5)) --workers_;
  }

  struct Sums {
    double reader_s = 0;
    double waited_s = 0;
    double elements = 0;
    std::deque<double> parts;
  };
  // A job whose workers send what they made in `lump` seconds at once. Its
  // readers keep four of these lumps, or what they take in 3 s.
  struct Lumps {
    std::vector<double> made;  // seconds, of each worker; at most `lump`
    double buffered = 0;       // elements
    // Used for lumps with an order:
    std::vector<std::deque<uint64_t>> leased;  // of each worker
    std::set<uint64_t> free;                   // of workers that are gone
    std::set<uint64_t> done;                   // behind `head`
    uint64_t head = 0;  // next lump that the readers take
    uint64_t next = 0;  // first lump that no worker has had
  };
  struct Second {
    double elements = 0;
    double busy = 0;  // part of the workers' time
  };

  Second MakeOrderedLumps(const Situation& at, double noise, Lumps& lumps) {
    for (size_t k = workers_; k < lumps.leased.size(); ++k) {
      lumps.free.insert(lumps.leased[k].begin(), lumps.leased[k].end());
    }
    lumps.leased.resize(workers_);
    lumps.made.resize(workers_);
    for (size_t k = 0; k < workers_; ++k) {
      std::deque<uint64_t>& own = lumps.leased[k];
      while (own.size() < at.lease) {
        if (lumps.free.empty()) lumps.free.insert(lumps.next++);
        own.push_back(*lumps.free.begin());
        lumps.free.erase(lumps.free.begin());
      }
      lumps.made[k] += noise * Noise();
      if (lumps.made[k] < at.lump) continue;
      lumps.made[k] -= at.lump;
      lumps.done.insert(own.front());
      own.pop_front();
    }
    for (; lumps.done.erase(lumps.head) > 0; ++lumps.head) {
      lumps.buffered += at.lump * at.worker;
    }
    Second second{std::min(lumps.buffered, at.trainer), 1.0};
    lumps.buffered -= second.elements;
    return second;
  }

  Second MakeLumps(const Situation& at, double noise, Lumps& lumps) {
    if (at.lease > 0) return MakeOrderedLumps(at, noise, lumps);
    if (lumps.made.size() > workers_) lumps.made.resize(workers_);
    while (lumps.made.size() < workers_) lumps.made.push_back(0);
    const double size = at.lump * at.worker;
    const double most = std::max(4 * size, 3 * std::min(at.trainer, 4000.0));
    const double running = std::min({static_cast<double>(workers_), at.cores});
    const double speed = noise *
                         std::min(1.0, at.source / (at.worker * running)) *
                         running / std::max(1.0, static_cast<double>(workers_));
    Second second;
    for (double& made : lumps.made) {
      if (made < at.lump) {
        made += speed * Noise();
        second.busy += 1.0 / static_cast<double>(workers_);
      }
      if (made >= at.lump && lumps.buffered + size <= most) {
        made -= at.lump;
        lumps.buffered += size;
      }
    }
    const double link = at.link * noise;
    second.elements = std::min({lumps.buffered, at.trainer, link});
    lumps.buffered -= second.elements;
    return second;
  }

  std::mt19937 random_;
  ScaleSettings settings_;
  Autoscaler scaler_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  uint64_t workers_;
  std::vector<Situation> jobs_;
  std::vector<Sums> sums_;
  std::vector<Lumps> lumps_;
  std::deque<double> busy_;
  double noise_ = 0.05;
  bool acts_ = true;
  std::vector<uint64_t> wanted_;
};

constexpr uint32_t kMost = 64;
ScaleSettings Settings() { return {.workers_min = 1, .workers_max = kMost}; }

// A number with headroom for what the hand-tuned one just manages.
uint64_t MostOf(uint64_t tuned) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(tuned) / 0.6)) + 1;
}

std::vector<Situation> Situations() {
  std::vector<Situation> all;
  for (const double trainer : {40.0, 90.0, 250.0, 430.0, 800.0, 1500.0}) {
    all.push_back({"trainer", trainer});
  }
  for (const double source : {130.0, 480.0, 900.0}) {
    all.push_back({"source", 4000, 100, source});
  }
  for (const double link : {150.0, 240.0, 620.0}) {
    all.push_back({"link", 3000, 100, kNoLimit, link});
  }
  for (const double cores : {2.0, 4.0}) {
    all.push_back({"cores", 2000, 100, kNoLimit, kNoLimit, cores});
  }
  return all;
}

std::string Text(const Service& service) {
  std::string text = "wanted";
  for (const uint64_t each : service.wanted()) {
    text += " " + std::to_string(each);
  }
  return text + "; " + service.scaler().reason();
}

// Changes of direction.
int Turns(const Service& service) {
  const std::vector<uint64_t>& wanted = service.wanted();
  int turns = 0;
  for (size_t k = 2; k < wanted.size(); ++k) {
    const bool rose = wanted[k - 1] > wanted[k - 2];
    turns += rose != (wanted[k] > wanted[k - 1]) ? 1 : 0;
  }
  return turns;
}

TEST(AutoscalerSimulation, FindsTheHandTunedNumberWithinThreeDecisions) {
  for (const Situation& at : Situations()) {
    const uint64_t tuned = HandTuned(at, kMost);
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const uint64_t begin = 1 + seed % 3;
      Service service(seed, begin, Settings());
      service.Set({at});
      service.Run(absl::Minutes(5));
      SCOPED_TRACE(testing::Message()
                   << at.name << " trainer " << at.trainer << " source "
                   << at.source << " link " << at.link << " seed " << seed
                   << " tuned " << tuned << ": " << Text(service));
      const std::vector<uint64_t>& wanted = service.wanted();
      const uint64_t third =
          wanted.empty() ? begin
                         : wanted[std::min<size_t>(2, wanted.size() - 1)];
      ASSERT_GE(RateOf(at, third), 0.85 * RateOf(at, kMost));
      ASSERT_LE(third, std::max(MostOf(tuned), begin));
      ASSERT_GE(RateOf(at, service.workers()), 0.85 * RateOf(at, kMost));
      if (at.name == "trainer") {
        ASSERT_GE(service.workers(), tuned);
      }
      ASSERT_LE(service.workers(), std::max(MostOf(tuned), begin));
    }
  }
}

TEST(AutoscalerSimulation, NeverFlapsWhileDemandIsTheSame) {
  for (const Situation& at : Situations()) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      Service service(seed, 1 + seed % 24, Settings());
      service.Set({at});
      service.Run(absl::Minutes(6));
      const size_t found = service.wanted().size();
      service.Run(absl::Minutes(20));
      SCOPED_TRACE(testing::Message()
                   << at.name << " trainer " << at.trainer << " source "
                   << at.source << " link " << at.link << " seed " << seed
                   << ": " << Text(service));
      ASSERT_LE(found, 5u);
      ASSERT_LE(service.wanted().size(), found + 1);
      // Up, down to the knee, and one up from it.
      ASSERT_LE(Turns(service), 2);
    }
  }
}

// Elements that come in lumps: a worker sends at once what takes it seconds, at
// most as many as an interval has.
std::vector<Situation> LumpySituations() {
  std::vector<Situation> all;
  for (const double lump : {2.0, 5.0, 10.0}) {
    for (const double trainer : {90.0, 250.0, 800.0, 1500.0}) {
      Situation at{"trainer", trainer};
      at.lump = lump;
      all.push_back(at);
    }
    Situation source{"source", 4000, 100, 480};
    source.lump = lump;
    all.push_back(source);
    Situation cores{"cores", 2000, 100, kNoLimit, kNoLimit, 4};
    cores.lump = lump;
    all.push_back(cores);
  }
  return all;
}

TEST(AutoscalerSimulation, FindsTheHandTunedNumberWhereElementsComeInLumps) {
  for (const Situation& at : LumpySituations()) {
    const uint64_t tuned = HandTuned(at, kMost);
    for (uint32_t seed = 0; seed < 15; ++seed) {
      const uint64_t begin = 1 + seed % 3;
      Service service(seed, begin, Settings());
      service.Set({at});
      service.Run(absl::Minutes(15));
      const std::vector<uint64_t> wanted = service.wanted();
      const uint64_t found = service.workers();
      service.Run(absl::Minutes(12));
      SCOPED_TRACE(testing::Message()
                   << at.name << " lump " << at.lump << " trainer "
                   << at.trainer << " source " << at.source << " seed " << seed
                   << " tuned " << tuned << ": " << Text(service));
      const uint64_t third =
          wanted.empty() ? begin
                         : wanted[std::min<size_t>(2, wanted.size() - 1)];
      EXPECT_GE(RateOf(at, third), 0.85 * RateOf(at, kMost));
      EXPECT_GE(RateOf(at, found), 0.85 * RateOf(at, kMost));
      EXPECT_LE(found, std::max(2 * tuned + 2, begin));
      // Then it stays: no more than one change, which is not undone.
      EXPECT_LE(service.wanted().size(), wanted.size() + 1);
      EXPECT_LE(Turns(service), 2);
    }
  }
}

// Workers that work ahead are busy while readers wait for the first lump. Such
// waits are no reason to double the fleet again.
TEST(AutoscalerSimulation, DoesNotGrowForLumpsThatWorkersMakeAhead) {
  for (const size_t lease : {2U, 3U, 4U}) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      Situation at{"trainer", 0.5, 0.2};
      at.lump = 5;
      at.lease = lease;
      Service service(seed, 1,
                      {.workers_min = 1,
                       .workers_max = 8,
                       .interval = absl::Seconds(4),
                       .down_after = absl::Seconds(8)});
      service.Set({at});
      service.Run(absl::Minutes(3));
      SCOPED_TRACE(testing::Message() << "lease " << lease << " seed " << seed);
      EXPECT_THAT(service.workers(),
                  testing::AllOf(testing::Ge(3u), testing::Le(5u)))
          << Text(service);
    }
  }
}

TEST(AutoscalerSimulation, FollowsAStepWhereElementsComeInLumps) {
  for (const double lump : {2.0, 5.0, 10.0}) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      Situation few{"trainer", 250};
      Situation many{"trainer", 1500};
      few.lump = many.lump = lump;
      Service service(seed, 1, Settings());
      service.Set({few});
      service.Run(absl::Minutes(10));
      const size_t before = service.wanted().size();
      SCOPED_TRACE(testing::Message() << "lump " << lump << " seed " << seed);
      EXPECT_THAT(service.workers(),
                  testing::AllOf(testing::Ge(3u), testing::Le(6u)))
          << Text(service);
      service.Set({many});
      service.Run(absl::Minutes(10));
      EXPECT_LE(service.wanted().size(), before + 3) << Text(service);
      EXPECT_THAT(service.workers(),
                  testing::AllOf(testing::Ge(15u), testing::Le(26u)))
          << Text(service);
      service.Set({few});
      service.Run(absl::Minutes(8));
      EXPECT_THAT(service.workers(),
                  testing::AllOf(testing::Ge(3u), testing::Le(6u)))
          << Text(service);
    }
  }
}

TEST(AutoscalerSimulation, KeepsItsFindingsThroughARestart) {
  for (const Situation& at : Situations()) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      Service service(seed, 1, Settings());
      service.Set({at});
      service.Run(absl::Minutes(8));
      const uint64_t found = service.workers();
      const ScaleMemory memory = service.scaler().Remember();
      service.Restart(true);
      service.SetWorkers(1);  // as `up` begins
      SCOPED_TRACE(testing::Message()
                   << at.name << " trainer " << at.trainer << " source "
                   << at.source << " seed " << seed);
      EXPECT_EQ(service.scaler().workers_wanted(), found);
      EXPECT_EQ(service.scaler().Remember(), memory);
      service.Run(absl::Minutes(6));
      // The workers come back, and no ceiling is tried again.
      EXPECT_GE(RateOf(at, service.workers()), 0.85 * RateOf(at, kMost));
      EXPECT_LE(service.wanted().size(), 1u) << Text(service);
    }
  }
}

// After the first ceiling has held for 30 min, the number is tried again, and
// then ever more rarely.
TEST(AutoscalerSimulation, TriesAgainEverMoreRarely) {
  for (uint32_t seed = 0; seed < 3; ++seed) {
    Service service(seed, 1, Settings());
    service.Set({{"source", 4000, 100, 480}});
    service.Run(absl::Hours(24));
    SCOPED_TRACE(Text(service));
    // 30 min, 1, 2, 4, 8 and 8 h: six tries. Each goes there, back, and perhaps
    // one step further.
    EXPECT_LE(service.wanted().size(), 4u + 3 * 6);
    EXPECT_GE(service.wanted().size(), 8u);
  }
}

TEST(AutoscalerSimulation, FollowsAStepInDemandUpAndDown) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Service service(seed, 1, Settings());
    service.Set({{"trainer", 250}});
    service.Run(absl::Minutes(4));
    const size_t before = service.wanted().size();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_THAT(service.workers(),
                testing::AllOf(testing::Ge(3u), testing::Le(5u)))
        << Text(service);
    service.Set({{"trainer", 1500}});
    service.Run(absl::Minutes(4));
    ASSERT_LE(service.wanted().size(), before + 3) << Text(service);
    ASSERT_THAT(service.workers(),
                testing::AllOf(testing::Ge(15u), testing::Le(26u)))
        << Text(service);
    service.Set({{"trainer", 250}});
    service.Run(absl::Minutes(5));
    ASSERT_THAT(service.workers(),
                testing::AllOf(testing::Ge(3u), testing::Le(6u)))
        << Text(service);
  }
}

TEST(AutoscalerSimulation, FollowsASourceThatBecomesFaster) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Service service(seed, 1, Settings());
    service.Set({{"source", 1500, 100, 480}});
    service.Run(absl::Minutes(5));
    ASSERT_LE(service.workers(), 6u) << Text(service);
    service.Set({{"source", 1500, 200}});
    service.Run(absl::Minutes(5));
    ASSERT_GE(service.workers(), 8u) << Text(service);
  }
}

// A ceiling ends when the job is slower than it was there.
TEST(AutoscalerSimulation, FollowsWorkersThatBecomeSlower) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Service service(seed, 1, Settings());
    service.Set({{"source", 1500, 100, 480}});
    service.Run(absl::Minutes(5));
    ASSERT_LE(service.workers(), 6u) << Text(service);
    service.Set({{"source", 1500, 30, 480}});
    service.Run(absl::Minutes(5));
    ASSERT_GE(service.workers(), 12u) << Text(service);
  }
}

TEST(AutoscalerSimulation, SharesWorkersBetweenJobs) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Service service(seed, 2, Settings());
    service.Set({{"one", 200}, {"two", 600}});
    service.Run(absl::Minutes(8));
    const std::string text = Text(service);
    ASSERT_THAT(service.workers(),
                testing::AllOf(testing::Ge(8u), testing::Le(14u)))
        << text;
    const JobScale* one = service.scaler().FindJob("one");
    const JobScale* two = service.scaler().FindJob("two");
    ASSERT_TRUE(one != nullptr && two != nullptr);
    EXPECT_GT(two->workers_wanted, one->workers_wanted) << text;
  }
}

// ---- single rules

TEST(Autoscaler, SaysThatMoreWorkersDoNotHelpWhereTheLinkIsTheBound) {
  Service service(1, 8, Settings());
  service.Set({{"slow", 1000, 100, kNoLimit, 240}});
  service.Run(absl::Minutes(5));
  const JobScale* job = service.scaler().FindJob("slow");
  ASSERT_NE(job, nullptr);
  EXPECT_FALSE(job->more_workers_help);
  EXPECT_THAT(job->reason, HasSubstr("more workers do not help"));
  EXPECT_THAT(service.scaler().reason(), HasSubstr("job 'slow' waits"));
  EXPECT_LE(service.workers(), 5u) << Text(service);
}

TEST(Autoscaler, SaysThatMoreWorkersDoNotHelpWhereTheSourceIsTheBound) {
  Service service(1, 1, Settings());
  service.Set({{"slow", 4000, 100, 480}});
  service.Run(absl::Minutes(5));
  const JobScale* job = service.scaler().FindJob("slow");
  ASSERT_NE(job, nullptr);
  EXPECT_FALSE(job->more_workers_help);
  EXPECT_THAT(job->reason,
              HasSubstr("was not faster with more than 5 workers"));
  EXPECT_EQ(service.workers(), 5u);
}

TEST(Autoscaler, StartsNoWorkerForAPositionThatIsBeingMade) {
  Service service(1, 1, Settings());
  Situation one{.name = "stream", .trainer = 4000, .worker = 100};
  one.bound = BoundBy::kPositions;
  service.Set({one});
  service.Run(absl::Minutes(5));
  const JobScale* job = service.scaler().FindJob("stream");
  ASSERT_NE(job, nullptr);
  EXPECT_FALSE(job->more_workers_help);
  EXPECT_THAT(job->reason, HasSubstr("all positions of its source are being"));
  EXPECT_LE(service.workers(), 2u);
}

TEST(Autoscaler, StaysWithinItsBounds) {
  ScaleSettings settings = Settings();
  settings.workers_min = 3;
  settings.workers_max = 6;
  Service service(1, 4, settings);
  service.Set({{"fast", 5000}});
  service.Run(absl::Minutes(3));
  EXPECT_EQ(service.workers(), 6u);
  EXPECT_THAT(service.scaler().reason(), HasSubstr("upper bound"));
  service.Set({});
  service.Run(absl::Minutes(3));
  EXPECT_EQ(service.workers(), 3u);
}

TEST(Autoscaler, GoesToZeroWithoutJobsAndComesBack) {
  ScaleSettings settings = Settings();
  settings.workers_min = 0;
  Service service(1, 4, settings);
  service.Run(absl::Minutes(3));
  EXPECT_EQ(service.workers(), 0u);
  service.Set({{"late", 250}});
  service.Run(absl::Minutes(3));
  EXPECT_GE(service.workers(), 3u);
}

TEST(Autoscaler, KeepsItsNumberWhileAllWorkersAreRestarted) {
  Autoscaler scaler(Settings());
  absl::Time now = absl::FromUnixSeconds(1);
  scaler.Look(now, {.workers = 3, .jobs = {}});
  now += absl::Seconds(10);
  scaler.Look(now, {.workers = 3, .jobs = {}});
  ASSERT_EQ(scaler.workers_wanted(), 3u);
  now += absl::Seconds(1);
  EXPECT_EQ(scaler.Look(now, {.workers = 0, .jobs = {}}), std::nullopt);
  EXPECT_EQ(scaler.workers_wanted(), 3u);
}

// A dry run: the figures describe a fleet that nothing changes.
TEST(Autoscaler, SaysAStableNumberIfNothingActsOnIt) {
  for (const uint64_t workers : {1U, 2U, 12U}) {
    Service service(1, workers, Settings());
    service.SetNoise(0);
    service.Freeze();
    service.Set({{"trainer", 250}});
    service.Run(absl::Minutes(30));
    EXPECT_LE(service.wanted().size(), 1u) << Text(service);
    EXPECT_GE(*service.scaler().workers_wanted(), 3u);
    EXPECT_LE(*service.scaler().workers_wanted(), 5u);
  }
}

TEST(Autoscaler, KnowsNothingBeforeItHasMeasured) {
  Autoscaler scaler(Settings());
  const absl::Time now = absl::FromUnixSeconds(1);
  EXPECT_TRUE(scaler.Due(now, 2));
  EXPECT_EQ(scaler.Look(now, {.workers = 2, .jobs = {}}), std::nullopt);
  EXPECT_EQ(scaler.workers_wanted(), std::nullopt);
  // It looks several times in the interval, and decides at its end.
  int looks = 0;
  for (int second = 1; second <= 9; ++second) {
    const absl::Time later = now + absl::Seconds(second);
    if (!scaler.Due(later, 2)) continue;
    ++looks;
    EXPECT_EQ(scaler.Look(later, {.workers = 2, .jobs = {}}), std::nullopt);
    EXPECT_EQ(scaler.workers_wanted(), std::nullopt);
  }
  EXPECT_THAT(looks, testing::AllOf(testing::Ge(3), testing::Le(8)));
  EXPECT_TRUE(scaler.Due(now + absl::Seconds(10), 2));
  scaler.Look(now + absl::Seconds(10), {.workers = 2, .jobs = {}});
  EXPECT_EQ(scaler.workers_wanted(), 2u);
}

}  // namespace
}  // namespace feedmill
