// Reads houses.csv in shuffled batches, for two epochs. Without an argument it
// reads in this process, with one through the service at that address.
//
//   first_pipeline [tcp://HOST:PORT]
#include <feedmill/dataset.h>
#include <feedmill/loader.h>
#include <feedmill/status.h>

#include <cstdio>
#include <string>

using feedmill::Dataset;
using feedmill::Expr;

absl::Status Train(const std::string& service) {
  const Dataset houses = Dataset::Csv({"houses.csv"})
                             .Filter(Expr::Named("rooms") > 1)
                             .Shuffle()
                             .Map({{"area", Expr::Named("area") / 100},
                                   {"price", Expr::Named("price") / 1000}})
                             .Batch(3)
                             .WithSeed(7);
  feedmill::Loader loader(houses, {.service = service});
  // Finds the components once. A misspelt name is an error that lists them.
  const auto area = loader.Column<double>("area");
  if (!area.ok()) return area.status();
  const auto price = loader.Column<double>("price");
  if (!price.ok()) return price.status();
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::printf("epoch %d\n", epoch);
    for (const feedmill::Element& batch : loader) {  // each loop: a new epoch
      const auto areas = area->Tensor(batch).items;  // a span, no copy
      const auto prices = price->Tensor(batch).items;
      for (size_t k = 0; k < areas.size(); ++k) {
        std::printf("%s%g m2 %g k", k == 0 ? "" : ", ", areas[k] * 100,
                    prices[k]);
      }
      std::printf("\n");
    }
    if (!loader.status().ok()) return loader.status();  // OK at an epoch's end
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  const absl::Status status = Train(argc > 1 ? argv[1] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", feedmill::ErrorText(status).c_str());
  return 1;
}
