#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fa_profile::cli {

struct Format;

/// Whether what std::cout prints goes to a terminal.
bool PrintsToTerminal();

/// Throws Error for a format that a terminal cannot show, where std::cout goes to one. `hint`: where else to write.
void RefuseTerminal(const Format& format, const std::string& hint);

/// --output FILE of a command that prints a report: runs `print` with std::cout going to the file, which is replaced
/// whole or not at all; an empty `output` leaves std::cout alone. `inputs` are what the report is of: the output may be
/// none of them. Returns what `print` does. Throws Error.
int PrintTo(const std::string& output, const std::vector<std::string>& inputs, const Format& format,
            const std::function<int()>& print);

}  // namespace fa_profile::cli
