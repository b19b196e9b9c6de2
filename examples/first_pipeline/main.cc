// Reads houses.csv in shuffled batches: without an argument in this process,
// with one through the service at that address.
//
//   first_pipeline [tcp://HOST:PORT]
#include <cstdint>
#include <cstdio>
#include <string>

#include "client/reader.h"
#include "core/base/status.h"
#include "core/definition/dataset.h"

int main(int argc, char** argv) {
  using feedmill::Expr;
  const std::string service = argc > 1 ? argv[1] : "";
  const feedmill::Dataset houses =
      feedmill::Dataset::Csv({.files = {"houses.csv"}})
          .Filter(Expr::Named("rooms") > 1)
          .Shuffle()
          .Map({{"area", Expr::Named("area") / 100},
                {"price", Expr::Named("price") / 1000}})
          .Batch(3)
          .WithSeed(7);
  auto reader = feedmill::Read(houses.graph(), {.service = service});
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", feedmill::ErrorText(reader.status()).c_str());
    return 1;
  }
  for (const feedmill::Element& batch : **reader) {
    const auto area = batch.Tensor<double>("area");
    const auto price = batch.Tensor<double>("price");
    for (size_t k = 0; k < area.items.size(); ++k) {
      std::printf("%s%g m2 %g k", k == 0 ? "" : ", ", area.items[k] * 100,
                  price.items[k]);
    }
    std::printf("\n");
  }
  if (!(*reader)->status().ok()) {  // OK at the end of the data
    std::fprintf(stderr, "%s\n",
                 feedmill::ErrorText((*reader)->status()).c_str());
    return 1;
  }
  return 0;
}
