// Reads houses.csv in shuffled batches, for two epochs. Without an argument it
// reads in this process, with one through the service at that address.
//
//   first_pipeline [tcp://HOST:PORT]
#include <feedmill/dataset.h>
#include <feedmill/loader.h>
#include <feedmill/status.h>

#include <cstdint>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  using feedmill::Expr;
  const std::string service = argc > 1 ? argv[1] : "";
  const feedmill::Dataset houses =
      feedmill::Dataset::Csv({"houses.csv"})
          .Filter(Expr::Named("rooms") > 1)
          .Shuffle()
          .Map({{"area", Expr::Named("area") / 100},
                {"price", Expr::Named("price") / 1000}})
          .Batch(3)
          .WithSeed(7);
  feedmill::Loader loader(houses, {.service = service});
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::printf("epoch %d\n", epoch);
    for (const feedmill::Element& batch : loader) {
      const auto area = batch.Tensor<double>("area");
      const auto price = batch.Tensor<double>("price");
      for (size_t k = 0; k < area.items.size(); ++k) {
        std::printf("%s%g m2 %g k", k == 0 ? "" : ", ", area.items[k] * 100,
                    price.items[k]);
      }
      std::printf("\n");
    }
    if (!loader.status().ok()) {  // OK at the end of an epoch
      std::fprintf(stderr, "%s\n",
                   feedmill::ErrorText(loader.status()).c_str());
      return 1;
    }
  }
  return 0;
}
