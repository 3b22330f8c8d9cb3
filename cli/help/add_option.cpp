#include "fa_profile/add_option.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "fa_profile/text.h"

namespace fa_profile::help {
namespace {

// "500ms", "1d"
std::string DurationText(double seconds) {
  if (seconds < 1) return fmt::format("{}ms", std::lround(seconds * 1000));
  for (const auto& [unit, name] : {std::pair{86400, 'd'}, {3600, 'h'}, {60, 'm'}}) {
    if (std::fmod(seconds, unit) == 0) return fmt::format("{}{}", std::lround(seconds / unit), name);
  }
  return fmt::format("{:g}s", seconds);
}

}  // namespace

void AddDuration(CLI::App& app, const std::string& name, double& seconds, const std::string& what, double least,
                 double most) {
  const std::map<std::string, double> units = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto limits = std::pair(DurationText(least), DurationText(most));
  app.add_option(name, seconds, what)
      ->transform(CLI::Validator(
          [units, least, most, limits](std::string& text) -> std::string {
            double number = 0.0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
            const auto unit = units.find(text.substr(static_cast<std::size_t>(end - text.data())));
            if (failed != std::errc() || unit == units.end() || !std::isfinite(number)) {
              return "must be a time like 500ms, 15s, 1m, 1h or 1d, not '" + Printable(text) + "'";
            }
            const double asked = number * unit->second;
            if (asked < least || asked > most) {
              return fmt::format("must be a time from {} to {}, not '{}'", limits.first, limits.second,
                                 Printable(text));
            }
            text = fmt::format("{}", asked);
            return "";
          },
          fmt::format("TIME in [{} - {}]", limits.first, limits.second)))
      ->type_name("DURATION");
}

}  // namespace fa_profile::help
