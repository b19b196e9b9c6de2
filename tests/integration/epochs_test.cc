// Epochs: the elements of Read with ReadOptions::epoch, and of a Loader's
// loops. They are read in this process and through a service, in a job with a
// name or without. One reader or several ranks read them, also from a token.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "feedmill/loader.h"
#include "feedmill/reader.h"
#include "feedmill/token.h"
#include "tests/integration/epoch_vocabulary.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// With plan steps only, with a filter, with a client stage that holds rows, and
// with passes within an epoch.
constexpr const char* kPipelines[] = {
    "[{shuffle: {}}, {batch: {size: 3}}]",
    ("[{shuffle: {}}, {map: 'x + random.integers(0, 1000) * 1000'}, "
     "{filter: 'x % 3 != 0'}]"),
    "[{shuffle: {}}, {filter: 'x % 3 != 0'}, {batch: {size: 4}}]",
    "[{filter: 'x % 4 < 3'}, {shuffle: {window: 20}}, {repeat: 2}]",
};

TEST_F(Epochs, EachHasItsOwnOrderLocallyAndThroughAService) {
  for (const char* steps : kPipelines) {
    SCOPED_TRACE(steps);
    const Graph graph = GraphOf(steps);
    std::set<Elements> orders;
    for (const uint64_t epoch : {3U, 0U, 1U}) {  // a job goes back, too
      const Elements local = ReadEpoch(graph, Of(Way::kLocal), epoch);
      EXPECT_TRUE(orders.insert(local).second);
      EXPECT_EQ(ReadEpoch(graph, Of(Way::kService), epoch), local);
      EXPECT_EQ(ReadEpoch(graph, Of(Way::kNamedJob, steps), epoch), local);
    }
  }
}

TEST_F(Epochs, AreTheFirstWithoutAWish) {
  const Graph graph = GraphOf(kPipelines[0]);
  for (const Way way : {Way::kLocal, Way::kService}) {
    for (int times = 0; times < 2; ++times) {
      auto reader = Read(graph, Of(way));
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->epoch(), 0);
      EXPECT_EQ(Rest(**reader), ReadEpoch(graph, Of(Way::kLocal), 0));
    }
  }
  // In a job with a name: the first that was not finished.
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    auto reader = Read(graph, Of(Way::kNamedJob));
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->epoch(), epoch);
    EXPECT_EQ(Rest(**reader), ReadEpoch(graph, Of(Way::kLocal), epoch));
  }
}

TEST_F(Epochs, TheTokensIsReadAndAnotherRefused) {
  const Graph graph = GraphOf(kPipelines[2]);
  const Elements whole = ReadEpoch(graph, Of(Way::kLocal), 2);
  for (const Way from : kWays) {
    ReadOptions options = Of(from, "token");
    options.epoch = 2;
    auto reader = Read(graph, options);
    ASSERT_TRUE(reader.ok()) << reader.status();
    auto element = (*reader)->begin();
    for (int n = 0; n < 3; ++n) ++element;  // after the fourth
    const absl::StatusOr<std::string> token = (*reader)->Save();
    ASSERT_TRUE(token.ok()) << token.status();
    reader->reset();
    for (const Way to : kWays) {
      options = Of(to, "token");
      options.resume.token = *token;
      for (const bool said : {false, true}) {
        if (said) options.epoch = 2;
        auto rest = Read(graph, options);
        ASSERT_TRUE(rest.ok()) << rest.status();
        EXPECT_EQ((*rest)->epoch(), 2);
        EXPECT_EQ(Rest(**rest), Elements(whole.begin() + 4, whole.end()));
      }
      options.epoch = 0;
      const absl::Status refused = Read(graph, options).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(ErrorText(refused), HasSubstr("token is of epoch 2"));
      EXPECT_THAT(ErrorText(ShowBatch(graph, 0, options).status()),
                  HasSubstr("token is of epoch 2"));
    }
  }
}

TEST_F(Epochs, AreRefusedWhileAnotherReaderReadsTheJob) {
  // The job ends when the reader holds the last element: it holds a part here.
  const Graph graph = GraphOf("[{shuffle: {}}, {repeat: 50}]");
  ReadOptions options = Of(Way::kNamedJob);
  options.epoch = 1;
  options.limits.budget_bytes = 1;
  auto first = Read(graph, options);
  ASSERT_TRUE(first.ok()) << first.status();
  for (const uint64_t epoch : {0U, 1U, 2U}) {
    options.epoch = epoch;
    EXPECT_THAT(ErrorText(Read(graph, options).status()),
                HasSubstr("is being read by 'solo'"));
  }
  EXPECT_EQ(Rest(**first), ReadEpoch(graph, Of(Way::kLocal), 1));
}

TEST_F(Epochs, CannotBeChosenInASharedJob) {
  const Graph graph = GraphOf("[{map: 'x * x'}]", "{seed: 9, order: any}");
  ReadOptions options = Of(Way::kNamedJob);
  options.epoch = 0;
  EXPECT_THAT(ErrorText(Read(graph, options).status()),
              HasSubstr("the epoch that the job is at"));
  options = Of(Way::kService);
  options.epoch = 4;  // a job of its own
  auto reader = Read(graph, options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->epoch(), 4);
  EXPECT_EQ(Rest(**reader).size(), 100);
}

TEST_F(Epochs, AreBelowTheGreatestNumber) {
  ReadOptions options;
  options.epoch = ~uint64_t{0};
  EXPECT_THAT(ErrorText(Read(GraphOf("[]"), options).status()),
              HasSubstr("below 2^63"));
}

TEST_F(Epochs, AreShownByNumber) {
  const Graph graph = GraphOf(kPipelines[0]);
  ReadOptions options;
  options.epoch = 5;
  const auto shown = ShowBatch(graph, 2, options);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->iteration, 5);
  EXPECT_EQ(Element(&shown->traced.element, 0).ToJson(),
            ReadEpoch(graph, Of(Way::kLocal), 5)[2]);
}

// ---- Loader

TEST_F(Epochs, ALoaderReadsOneAfterTheOther) {
  for (const char* steps : kPipelines) {
    for (const Way way : kWays) {
      SCOPED_TRACE(steps);
      const Graph graph = GraphOf(steps);
      Loader loader(graph, Of(way, steps));
      EXPECT_EQ(loader.reader(), nullptr);
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(loader.next_epoch(), epoch);
        EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), epoch));
        EXPECT_EQ(loader.reader()->epoch(), epoch);
      }
    }
  }
}

TEST_F(Epochs, ALoaderBeginsAtTheRequestedEpoch) {
  const Graph graph = GraphOf(kPipelines[0]);
  for (const Way way : kWays) {
    ReadOptions options = Of(way);
    options.epoch = 6;
    options.resume.skip_batches = {{0, 4}};
    Loader loader(graph, options);
    const Elements whole = ReadEpoch(graph, Of(Way::kLocal), 6);
    EXPECT_EQ(ReadNext(loader), Elements(whole.begin() + 4, whole.end()));
    // The first epoch has the skipped elements.
    EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), 7));
  }
}

TEST_F(Epochs, ALoaderSkipsTheRemainderOfAnInterruptedEpoch) {
  const Graph graph = GraphOf(kPipelines[2]);
  for (const Way way : kWays) {
    Loader loader(graph, Of(way));
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      const Elements whole = ReadEpoch(graph, Of(Way::kLocal), epoch);
      EXPECT_EQ(ReadNext(loader, 5),
                Elements(whole.begin(), whole.begin() + 5));
    }
  }
}

TEST_F(Epochs, ALoaderGivesReadersForLoopsOverChunks) {
  const Graph graph = GraphOf(kPipelines[0]);
  Loader loader(graph, Of(Way::kService));
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    const absl::StatusOr<Reader*> reader = loader.NextEpoch();
    ASSERT_TRUE(reader.ok()) << reader.status();
    uint64_t batches = 0;
    for (const Chunk& chunk : (*reader)->chunks()) batches += chunk.rows;
    EXPECT_EQ(batches, 34);
    EXPECT_TRUE((*reader)->ended());
  }
}

TEST_F(Epochs, ALoaderContinuesFromATokenAnywhere) {
  int job = 0;
  for (const char* steps : kPipelines) {
    const Graph graph = GraphOf(steps);
    std::vector<Elements> wholes;
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
      wholes.push_back(ReadEpoch(graph, Of(Way::kLocal), epoch));
    }
    for (const Way from : kWays) {
      for (const Way to : kWays) {
        const std::string name = std::to_string(++job);
        // Before the first epoch, in the middle of the second, after it.
        std::vector<std::string> tokens;
        {
          Loader loader(graph, Of(from, name));
          tokens.push_back(Saved(loader));
          EXPECT_EQ(loader.next_epoch(), 0);
          EXPECT_EQ(ReadNext(loader), wholes[0]);
          ReadNext(loader, 7);
          tokens.push_back(Saved(loader));
          // A loop that continues within the epoch is a loop over its reader.
          EXPECT_EQ(Rest(*loader.reader()),
                    Elements(wholes[1].begin() + 7, wholes[1].end()));
          tokens.push_back(Saved(loader));
          EXPECT_EQ(loader.next_epoch(), 2);
          EXPECT_EQ(ReadNext(loader), wholes[2]);
        }
        for (size_t k = 0; k < tokens.size(); ++k) {
          SCOPED_TRACE(std::string(steps) + " token " + std::to_string(k));
          ReadOptions options = Of(to, name);
          options.resume.token = tokens[k];
          Loader loader(graph, options);
          EXPECT_EQ(loader.next_epoch(), k);
          EXPECT_NE(Saved(loader), "");  // opens it, no more
          ASSERT_EQ(loader.next_epoch(), k);
          while (loader.next_epoch() < 4) {
            const uint64_t epoch = loader.next_epoch();
            const ptrdiff_t done = epoch == 1 && k == 1 ? 7 : 0;
            ASSERT_EQ(ReadNext(loader), Elements(wholes[epoch].begin() + done,
                                                 wholes[epoch].end()));
          }
        }
      }
    }
  }
}

TEST_F(Epochs, ALoadersSeedIsDrawnOnce) {
  for (const Way way : kWays) {
    const Graph graph = GraphOf(kPipelines[0], "{}");
    Loader loader(graph, Of(way, "drawn"));
    const Elements first = ReadNext(loader);
    const uint64_t seed = loader.reader()->seed();
    const std::string token = Saved(loader);
    const Elements second = ReadNext(loader);
    EXPECT_NE(first, second);
    EXPECT_EQ(loader.reader()->seed(), seed);
    ReadOptions options = Of(Way::kLocal);
    options.seed = seed;
    EXPECT_EQ(ReadEpoch(graph, options, 1), second);
    options = Of(way, "drawn");
    options.resume.token = token;
    Loader again(graph, options);
    EXPECT_EQ(ReadNext(again), second);
  }
}

TEST_F(Epochs, ALoadersErrorEndsItAndSaysWhy) {
  for (const Way way : {Way::kLocal, Way::kService}) {
    Loader wrong(GraphOf("[{map: 'y'}]"), Of(way));
    for (int times = 0; times < 2; ++times) {
      EXPECT_FALSE(wrong.begin() != wrong.end());
      EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
    }
    EXPECT_EQ(wrong.Save().status(), wrong.status());
    // A data error: the place before it is saved, and no epoch comes after it.
    Loader bad(GraphOf("[{map: '6 // (x - 3)'}]"), Of(way));
    Elements elements;
    for (const Element element : bad) elements.push_back(element.ToJson());
    EXPECT_THAT(elements, ElementsAre("-2", "-3", "-6"));
    EXPECT_FALSE(bad.status().ok());
    EXPECT_FALSE(bad.begin() != bad.end());
    EXPECT_TRUE(bad.Save().ok());
    EXPECT_EQ(bad.next_epoch(), 1);
  }
  ReadOptions options;
  options.resume.token = "no token";
  Loader unknown(GraphOf("[]"), options);
  EXPECT_THAT(ErrorText(unknown.status()), HasSubstr("no token"));
  EXPECT_FALSE(unknown.begin() != unknown.end());
}

TEST_F(Epochs, ALoaderOfASharedJobReadsThePresentEpochOfTheJob) {
  const Graph graph = GraphOf("[{map: 'x * x'}]", "{seed: 9, order: any}");
  const Elements whole = ReadEpoch(graph, Of(Way::kLocal), 0);
  Loader one(graph, Of(Way::kNamedJob));
  Loader two(graph, Of(Way::kNamedJob));
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    Elements elements = ReadNext(one, 10);  // and leaves the rest to the other
    if (epoch == 1) continue;
    ASSERT_TRUE(two.NextEpoch().ok());
    ASSERT_TRUE(one.NextEpoch().ok());
    EXPECT_EQ(one.reader()->epoch(), 0);
    EXPECT_EQ(two.reader()->epoch(), 0);
    std::thread other([&] {
      for (const Element element : *two.reader()) {
        static_cast<void>(element);
      }
    });
    for (const Element element : *one.reader()) {
      static_cast<void>(element);
    }
    other.join();
    EXPECT_TRUE(one.status().ok() && two.status().ok());
  }
  EXPECT_EQ(one.reader()->epoch(), 1);
  EXPECT_FALSE(one.Save().ok());
}

TEST_F(Epochs, ALoaderGoesToATokenAndToAnEpoch) {
  const Graph graph = GraphOf(kPipelines[2]);
  for (const Way way : kWays) {
    Loader loader(graph, Of(way));
    ReadNext(loader, 5);
    const std::string token = Saved(loader);
    ReadNext(loader, 2);
    EXPECT_EQ(loader.Load("no token").code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(loader.next_epoch(), 2);
    ASSERT_TRUE(loader.Load(token).ok());
    EXPECT_EQ(loader.reader(), nullptr);
    EXPECT_EQ(Saved(loader), token);
    loader.SetEpoch(0);  // keeps the place
    const Elements whole = ReadEpoch(graph, Of(Way::kLocal), 0);
    EXPECT_EQ(ReadNext(loader), Elements(whole.begin() + 5, whole.end()));
    loader.SetEpoch(7);  // also when a token of the next epoch was saved
    EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), 7));
    ReadNext(loader, 1);
    loader.SetEpoch(4);
    EXPECT_EQ(loader.next_epoch(), 4);
    Rest(*loader.reader());
    EXPECT_EQ(loader.next_epoch(), 9);
    EXPECT_EQ(ReadNext(loader, 1).size(), 1);
    loader.SetEpoch(5);
    EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), 5));
    ASSERT_TRUE(loader.Load(token).ok());
    loader.SetEpoch(3);
    EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), 3));
  }
}

TEST_F(Epochs, AnotherLoaderBeginsWithTheOptionsOfALoader) {
  const Graph graph = GraphOf(kPipelines[0], "{}");  // the seed is drawn
  Loader loader(graph, Of(Way::kLocal));
  ReadNext(loader, 3);
  Loader broken_off(graph, loader.options());
  const Elements second = ReadNext(loader);
  EXPECT_EQ(ReadNext(broken_off), second);
  loader.Close();
  EXPECT_FALSE(loader.options().resume.token.empty());
  Loader after(graph, loader.options());
  EXPECT_EQ(ReadNext(after), ReadNext(loader));
}

TEST_F(Epochs, AClosedLoaderContinuesWithTheNextEpoch) {
  const Graph graph = GraphOf(kPipelines[0]);
  for (const Way way : kWays) {
    Loader loader(graph, Of(way));
    for (const uint64_t epoch : {0U, 1U, 2U}) {
      EXPECT_EQ(ReadNext(loader, epoch == 1 ? 4 : 10'000).size(),
                epoch == 1 ? 4 : 34);
      loader.Close();
      loader.Close();
      EXPECT_EQ(loader.reader(), nullptr);
      EXPECT_EQ(loader.next_epoch(), epoch + 1);
      const auto last = loader.Last();
      ASSERT_TRUE(last.ok()) << last.status();
      EXPECT_EQ(last->number, epoch == 1 ? 3 : 33);
      EXPECT_EQ(last->epoch, epoch);
      EXPECT_EQ(last->seed, 9);
    }
    EXPECT_EQ(ReadNext(loader), ReadEpoch(graph, Of(Way::kLocal), 3));
  }
}

TEST_F(Epochs, ALoaderCountsTheElementsOfItsRank) {
  const Graph graph = GraphOf(kPipelines[0]);  // of 34 batches
  for (const Way way : {Way::kLocal, Way::kService}) {
    for (const uint64_t rank : {0U, 1U, 2U}) {
      ReadOptions options = Of(way);
      if (way == Way::kLocal) options.rank = {.index = rank, .count = 3};
      const uint64_t size = way == Way::kService ? 34 : rank == 0 ? 12 : 11;
      Loader loader(graph, options);
      EXPECT_EQ(loader.Last().status().code(), absl::StatusCode::kOutOfRange);
      EXPECT_EQ(loader.Done().value_or(1), 0);
      EXPECT_EQ(loader.Size().value(), size);
      EXPECT_EQ(loader.reader(), nullptr);
      ReadNext(loader, 2);
      EXPECT_EQ(loader.Done().value(), 2);
      EXPECT_EQ(loader.Size().value(), size);
      Rest(*loader.reader());
      EXPECT_EQ(loader.Done().value(), 0);
    }
  }
  ReadOptions options;
  options.rank = {.index = 2, .count = 3, .even = Even::kDrop};
  EXPECT_EQ(Loader(graph, options).Size().value(), 11);
  options.rank.even = Even::kPad;
  EXPECT_EQ(Loader(graph, options).Size().value(), 12);
  options.rank.count = 2;
  EXPECT_FALSE(Loader(graph, options).Size().ok());
  EXPECT_EQ(Loader(GraphOf(kPipelines[1])).Size().value(), std::nullopt);
}

TEST_F(Epochs, ALoaderContinuesFromATokenAfterAnError) {
  Loader loader(GraphOf("[{map: '6 // (x - 3)'}]"));
  ReadNext(loader, 2);
  const std::string token = Saved(loader);
  for (const Element element : *loader.reader()) static_cast<void>(element);
  EXPECT_TRUE(loader.failed());
  loader.Close();
  EXPECT_FALSE(loader.begin() != loader.end());
  EXPECT_TRUE(loader.failed());
  ASSERT_TRUE(loader.Load(token).ok());
  EXPECT_FALSE(loader.failed());
  EXPECT_EQ(ReadNext(loader, 1), Elements({"-6"}));
}

TEST_F(Epochs, ALoaderOpensAnEpochAgainAfterAnError) {
  const std::string path = testing::TempDir() + "/epochs_late.txt";
  std::filesystem::remove(path);
  Loader loader(Dataset::Text({path}));
  EXPECT_FALSE(loader.begin() != loader.end());
  EXPECT_EQ(loader.status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(loader.failed());
  std::ofstream(path) << "a line\n";
  EXPECT_EQ(ReadNext(loader), Elements({"\"a line\""}));
}

TEST_F(Epochs, AnInterruptedLoopIsNoError) {
  bool interrupted = true;
  ReadOptions options;
  options.hooks.interrupted = [&] { return interrupted; };
  options.limits.threads = 1;
  const Graph graph = GraphOf("[{repeat: 1000000000}, {filter: 'x > 99'}]");
  Loader loader(graph, options);
  EXPECT_FALSE(loader.begin() != loader.end());
  EXPECT_EQ(loader.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(loader.failed());
  EXPECT_FALSE(loader.begin() != loader.end());
  EXPECT_EQ(loader.status().code(), absl::StatusCode::kCancelled);
}

// ---- ranks

class LoadersOfRanks : public Epochs {
 protected:
  // A loader for each rank, each on a thread of its own.
  std::vector<std::unique_ptr<Loader>> Make(const Graph& graph,
                                            ReadOptions options,
                                            uint64_t ranks) {
    std::vector<std::unique_ptr<Loader>> loaders;
    options.rank.count = ranks;
    for (options.rank.index = 0; options.rank.index < ranks;
         ++options.rank.index) {
      loaders.push_back(std::make_unique<Loader>(graph, options));
    }
    return loaders;
  }
  // Returns the elements of their next epoch from element `from` on, merged.
  static Elements ReadTogether(
      const std::vector<std::unique_ptr<Loader>>& loaders, size_t count,
      size_t from = 0) {
    std::vector<Elements> got(loaders.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < loaders.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { got[rank] = ReadNext(*loaders[rank], count); });
    }
    for (std::thread& thread : threads) thread.join();
    Elements whole;
    for (size_t n = from;; ++n) {
      const Elements& of = got[n % loaders.size()];
      const size_t first = (from + loaders.size() - 1 - n % loaders.size()) /
                           loaders.size();  // of that rank's, from `from` on
      const size_t k = n / loaders.size() - first;
      if (k >= of.size()) break;
      whole.push_back(of[k]);
    }
    return whole;
  }
  static std::string Merged(
      const std::vector<std::unique_ptr<Loader>>& loaders) {
    std::vector<std::string> tokens;
    for (const auto& loader : loaders) tokens.push_back(Saved(*loader));
    const absl::StatusOr<std::string> merged = Token::Merge(tokens);
    EXPECT_TRUE(merged.ok()) << merged.status();
    return merged.ok() ? *merged : "";
  }
};

TEST_F(LoadersOfRanks, ReadOneEpochAfterTheOther) {
  for (const char* steps : kPipelines) {
    SCOPED_TRACE(steps);
    const Graph graph = GraphOf(steps);
    for (const Way way : {Way::kLocal, Way::kNamedJob}) {
      const auto loaders = Make(graph, Of(way, steps), 2);
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(ReadTogether(loaders, 10'000),
                  ReadEpoch(graph, Of(Way::kLocal), epoch));
      }
    }
  }
}

TEST_F(LoadersOfRanks, ContinueFromTheirMergedTokenInAnyNumber) {
  int job = 0;
  for (const char* steps : kPipelines) {
    const Graph graph = GraphOf(steps);
    std::vector<Elements> wholes;
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      wholes.push_back(ReadEpoch(graph, Of(Way::kLocal), epoch));
    }
    for (const Way way : {Way::kLocal, Way::kNamedJob}) {
      for (const bool whole : {false, true}) {
        SCOPED_TRACE(std::string(steps) + (whole ? " after" : " within"));
        ReadOptions options = Of(way, std::to_string(++job));
        {
          const auto two = Make(graph, options, 2);
          EXPECT_EQ(ReadTogether(two, 10'000), wholes[0]);
          ReadTogether(two, whole ? 10'000 : 4);
          options.resume.token = Merged(two);
        }
        const auto three = Make(graph, options, 3);
        if (!whole) {
          EXPECT_EQ(three[0]->next_epoch(), 1);
          EXPECT_EQ(ReadTogether(three, 10'000, 8),
                    Elements(wholes[1].begin() + 8, wholes[1].end()));
        }
        EXPECT_EQ(three[0]->next_epoch(), 2);
        EXPECT_EQ(ReadTogether(three, 10'000), wholes[2]);
      }
    }
  }
}

}  // namespace
}  // namespace feedmill
