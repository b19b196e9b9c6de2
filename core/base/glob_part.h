#ifndef FEEDMILL_CORE_BASE_GLOB_PART_H_
#define FEEDMILL_CORE_BASE_GLOB_PART_H_

#include <string_view>

namespace feedmill {

// True if `part`, the part of a pattern between two slashes, matches `name`, of
// a file or folder:
//
//   *             any number of characters
//   ?             one character
//   [ac-e]        one of these characters and ranges
//   [!ac] [^ac]   one character that is none of these
//   [[:digit:]]   one character of a class of ASCII: also alnum, alpha, blank,
//                 cntrl, graph, lower, print, punct, space, upper and xdigit
//
// No wildcard matches the mark of a hidden name (IsHiddenName). "]" right
// behind "[" or
// "[!" is an ordinary character, as are "[" without its "]", and a backslash.
//
// Characters are encoded as UTF-8; a byte that is in none is a character, too.
// The C library's fnmatch has the rules of POSIX, but what is a character
// depends on the locale of the process: the same pattern would match other
// files in Python than on a worker. It also takes very long for patterns with
// many "*". Here the time is the product of the lengths at most.
bool PartMatches(std::string_view part, std::string_view name);

// True for a name that a folder and wildcards leave out: one that begins with
// '.', "lost+found", and those that Hadoop's tools leave beside data: an
// unfinished copy ("a.txt._COPYING_") and the mark of a folder ("a_$folder$").
bool IsHiddenName(std::string_view name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_GLOB_PART_H_
