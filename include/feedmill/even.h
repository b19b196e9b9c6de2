#ifndef FEEDMILL_EVEN_H_
#define FEEDMILL_EVEN_H_

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Number of elements of each rank, if the ranks do not divide the elements of
// an epoch. Ranks that take each step together need kDrop or kPad: in the last
// step of kExact, some of them would wait for the others without end.
enum class Even {
  // Every element once. Some ranks get one element more than others.
  kExact,
  // Every rank gets as many. The last elements of the epoch, fewer than the
  // ranks, are left out.
  kDrop,
  // Every rank gets as many. A rank without one of the last elements gets the
  // element before once more.
  kPad,
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_EVEN_H_
