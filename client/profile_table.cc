#include "client/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/gain.h"

namespace feedmill {
namespace {

using Cost = ReadProfile::Cost;

struct Line {
  std::string placement;
  std::string name;
  size_t place = 0;
  bool counts = true;      // its rows and bytes are meaningful
  bool elsewhere = false;  // on a worker of a service
  Cost cost{};
};

Cost Both(const Cost& a, const Cost& b) {
  return {a.wall_s + b.wall_s, a.cpu_s + b.cpu_s, a.rows_in + b.rows_in,
          a.rows_out + b.rows_out, a.bytes_out + b.bytes_out};
}

// Adds the steps of inputs before the steps of the whole pipeline, in written
// order.
void AddSteps(const AnalyzedGraph& graph, const std::string& before,
              std::vector<Line>& lines) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    AddSteps(*graph.inputs[i], fmt::format("{}inputs[{}] ", before, i), lines);
  }
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Placement placement = graph.steps[s].placement;
    const bool mapped =
        graph.steps[s].mapped != nullptr && s == graph.client_begin;
    lines.push_back(
        {std::string(placement == Placement::kClient && !mapped ? "client"
                                                                : "worker"),
         fmt::format("{}steps[{}] {}", before, s, graph.graph.steps[s].name()),
         ReadProfile::kSteps + graph.first_step + s});
  }
}

// Returns the lines with a cost. The plan's own steps are arithmetic and cost
// nothing measurable. Lines of a service's workers come first.
std::vector<Line> LinesOf(const ProfiledRead& read,
                          const ReadProfile::Sums& sums) {
  const bool local = read.local;
  std::vector<Line> all{{"source", DescribeSource(read.graph.graph.source),
                         ReadProfile::kSource}};
  AddSteps(read.graph, "", all);
  all.push_back({local ? "worker" : "client", "making chunks of them",
                 ReadProfile::kChunks, false});
  all.push_back(
      {"client", read.output, ReadProfile::kOutput, read.output == "printing"});
  std::vector<Line> lines;
  const auto keep = [&](Line line, const Cost& cost, bool elsewhere) {
    if (cost.wall_s <= 0) return;
    line.cost = cost;
    line.elsewhere = elsewhere;
    if (elsewhere && line.placement == "client") line.placement = "worker";
    if (!elsewhere && !local) line.placement = "client";
    lines.push_back(std::move(line));
  };
  std::erase_if(
      all, [&](const Line& line) { return line.place >= sums.reads.size(); });
  for (const Line& line : all) keep(line, sums.works[line.place], true);
  for (const Line& line : all) {
    keep(line, Both(sums.reads[line.place], sums.makes[line.place]), false);
  }
  return lines;
}

double Busy(const std::vector<Line>& lines, bool elsewhere) {
  double busy = 0;
  for (const Line& line : lines) {
    if (line.elsewhere == elsewhere) busy += line.cost.wall_s;
  }
  return busy;
}

std::string Number(uint64_t number, bool counts) {
  return counts ? fmt::format("{}", number) : "";
}

// A clause about the machine, if threads waited long for a core.
std::string WithoutACore(const ReadProfile::Sums& sums) {
  const double ready = sums.reads_ready_s + sums.makes_ready_s;
  if (ready <= sums.elapsed_s / 10) return "";
  return fmt::format(
      "; the machine is busy: threads were ready for {:.3f} s without a core",
      ready);
}

double TotalOf(const std::vector<Cost>& costs) {
  double total = 0;
  for (size_t k = 0; k < costs.size(); ++k) {
    if (k != ReadProfile::kWaiting) total += costs[k].wall_s;
  }
  return total;
}

const Line* LongestOf(const std::vector<Line>& lines,
                      const std::vector<Cost>& costs, bool elsewhere) {
  const Line* most = nullptr;
  for (const Line& line : lines) {
    if (line.elsewhere == elsewhere &&
        (most == nullptr ||
         costs[line.place].wall_s > costs[most->place].wall_s)) {
      most = &line;
    }
  }
  return most;
}

// The verdict on the whole read, in the form of the dispatcher's. `waited`: the
// part of the reader's time in which it waited.
std::string OwnVerdict(const std::vector<Line>& lines,
                       const ReadProfile::Sums& sums, double waited,
                       bool local) {
  const bool waits =
      waited >= kWaitNoticed && (!local || TotalOf(sums.makes) > 0);
  const bool elsewhere = waits && !local;
  const std::string wait = fmt::format(
      "the reader waits for data {:.0f} % of its time", waited * 100);
  const std::string gain = GainText(GainOf(waited));
  const double worked = Busy(lines, true);
  // If the workers were mostly idle, the service between them and the reader
  // is the bound.
  if (elsewhere && worked < sums.elapsed_s * waited / 2) {
    return fmt::format(
        "{}: its workers took {:.3f} s; what is between them and the reader is "
        "the bound: the start of the service, its network, or other work of "
        "the workers ({})",
        wait, worked, gain);
  }
  const auto& costs = elsewhere ? sums.works : waits ? sums.makes : sums.reads;
  const double total = TotalOf(costs);
  const Line* const most = LongestOf(lines, costs, elsewhere);
  if (most == nullptr || total <= 0) return "nothing was read";
  const Cost& cost = costs[most->place];
  const double share = cost.wall_s / total;
  if (waits) {
    const std::string_view makers = local ? "threads" : "workers";
    return fmt::format(
        "{}: {} takes {:.0f} % of the {}' time{}; make it cheaper or add {} "
        "({})",
        wait, most->name, share * 100, makers,
        cost.cpu_s < cost.wall_s / 2 ? ", mostly waiting rather than computing"
                                     : "",
        makers, gain);
  }
  return fmt::format(
      "bound by {}: the reader waits for data {:.0f} % of its time, and this "
      "takes {:.0f} % of the other time; without it the read would be {}",
      most->name, waited * 100, share * 100,
      GainText(GainOf((1 - waited) * share)));
}

// Fraction of the time in which the reading thread waited, of that in which it
// had a core or was blocked.
double WaitedShare(const ReadProfile::Sums& sums) {
  const double elapsed = std::max(sums.elapsed_s, 1e-9);
  return sums.reads[ReadProfile::kWaiting].wall_s /
         std::max(elapsed - sums.reads_ready_s, 1e-9);
}

// The dispatcher's verdict, or one of the same form.
std::string VerdictOn(const ProfiledRead& read, const std::vector<Line>& lines,
                      const ReadProfile::Sums& sums) {
  if (!read.verdict.empty()) return read.verdict;
  return OwnVerdict(lines, sums, WaitedShare(sums), read.local);
}

}  // namespace

std::string ProfileTable(const ProfiledRead& read,
                         const ReadProfile::Sums& sums) {
  const bool local = read.local;
  const std::vector<Line> lines = LinesOf(read, sums);
  const Cost& waiting = sums.reads[ReadProfile::kWaiting];
  const double worked = Busy(lines, true);
  double busy = 0;
  double cpu = 0;
  for (size_t k = 0; k < sums.reads.size(); ++k) {
    const Cost both = Both(sums.reads[k], sums.makes[k]);
    cpu += both.cpu_s;
    if (k != ReadProfile::kWaiting) busy += both.wall_s;
  }
  std::string out = fmt::format(
      "profile {:.3f} s, {:.3f} s CPU; {}{}\n", sums.elapsed_s,
      sums.process_cpu_s, VerdictOn(read, lines, sums), WithoutACore(sums));
  size_t width = std::string_view("receiving, and other work").size();
  for (const Line& line : lines) width = std::max(width, line.name.size());
  width = std::min<size_t>(width, 48);
  out += fmt::format("        {:<{}} {:>9} {:>9} {:>6} {:>12} {:>12} {:>10}\n",
                     "", width, "wall s", "CPU s", "share", "rows in",
                     "rows out", "MB out");
  const auto add = [&](std::string_view placement, std::string_view name,
                       const Cost& cost, bool counts, double shares) {
    const std::string share =
        shares > 0 ? fmt::format("{:.0f} %", cost.wall_s / shares * 100) : "";
    out += fmt::format(
        "{:<7} {:<{}} {:>9.3f} {:>9.3f} {:>6} {:>12} {:>12} {:>10}\n",
        placement, name.substr(0, width), width, cost.wall_s, cost.cpu_s, share,
        Number(cost.rows_in, counts && cost.rows_in > 0),
        Number(cost.rows_out, counts),
        counts
            ? fmt::format("{:.1f}", static_cast<double>(cost.bytes_out) / 1e6)
            : "");
  };
  for (const Line& line : lines) {
    add(line.placement, line.name, line.cost, line.counts,
        line.elsewhere ? worked : busy);
  }
  add("client", local ? "waiting for elements" : "waiting for the service",
      waiting, false, 0);
  add("client", "ready, without a core",
      Cost{sums.reads_ready_s + sums.makes_ready_s}, false, 0);
  // Threads without measurement: sockets, and time between reads.
  const Cost rest{sums.reads[ReadProfile::kRest].wall_s +
                      sums.makes[ReadProfile::kRest].wall_s,
                  std::max(0.0, sums.process_cpu_s - cpu) +
                      sums.reads[ReadProfile::kRest].cpu_s +
                      sums.makes[ReadProfile::kRest].cpu_s};
  add("client", local ? "other work" : "receiving, and other work", rest, false,
      0);
  return out;
}

std::string ProfileJson(const ProfiledRead& read,
                        const ReadProfile::Sums& sums) {
  const std::vector<Line> lines = LinesOf(read, sums);
  nlohmann::json places = nlohmann::json::array();
  const auto add = [&](const std::string& where, const std::string& name,
                       const Cost& cost) {
    places.push_back({{"where", where},
                      {"name", name},
                      {"wall_s", cost.wall_s},
                      {"cpu_s", cost.cpu_s},
                      {"rows_in", cost.rows_in},
                      {"rows_out", cost.rows_out},
                      {"bytes_out", cost.bytes_out}});
  };
  for (const Line& line : lines) add(line.placement, line.name, line.cost);
  add("client", read.local ? "waiting for elements" : "waiting for the service",
      sums.reads[ReadProfile::kWaiting]);
  const nlohmann::json report = {
      {"elapsed_s", sums.elapsed_s},
      {"cpu_s", sums.process_cpu_s},
      {"ready_s", sums.reads_ready_s + sums.makes_ready_s},
      {"verdict", VerdictOn(read, lines, sums)},
      {"places", std::move(places)}};
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace feedmill
