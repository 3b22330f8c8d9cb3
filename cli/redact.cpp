#include "fa_profile/redact.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/error.h"

namespace fa_profile::cli {
namespace {

struct RedactArguments {
  std::string from;
  std::string to;
  bool overwrite = false;
  load::Redaction redaction;
};

int RunRedact(const RedactArguments& arguments) {
  const load::Redaction& redaction = arguments.redaction;
  if (!redaction.code && !redaction.closed_code && !redaction.names && !redaction.paths && !redaction.raw) {
    throw Error("redact needs at least one of --code, --closed-code, --names, --paths and --raw",
                "fa-profile redact --help says what each leaves out");
  }
  if (!redaction.kernels.empty() && !redaction.code) {
    throw Error("--kernel applies only together with --code", "add --code, or leave it out");
  }
  const load::Redacted redacted = load::RedactFile(arguments.from, arguments.to, redaction, arguments.overwrite);
  std::cout << fmt::format("wrote {}, without: code of {} functions, {} cubins, {} names{}{}\n", arguments.to,
                           redacted.functions, redacted.cubins, redacted.names, redaction.paths ? ", paths" : "",
                           redaction.names || redaction.raw ? ", raw counter data" : "");
  return kExitFine;
}

}  // namespace

void AddRedact(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<RedactArguments>();
  CLI::App* const redact = app.add_subcommand("redact", "Copy a recording without machine code, paths or names");
  redact->add_option("recording", arguments->from, "A *.fap file")->required();
  redact->add_option("-o,--output", arguments->to, "The copy")->required();
  redact->add_flag("--force", arguments->overwrite, "Replace an existing file");
  redact->add_flag("--code", arguments->redaction.code, "Leave out machine code, and its samples and counts");
  redact
      ->add_option("--kernel", arguments->redaction.kernels,
                   "With --code: only that of kernels that match this regular expression")
      ->type_name("REGEX");
  redact->add_flag("--closed-code", arguments->redaction.closed_code,
                   "Leave out machine code of cuBLAS, cuDNN and other closed libraries, and its samples and counts");
  redact->add_flag("--paths", arguments->redaction.paths,
                   "Leave out the folders of absolute paths, and the command line");
  redact->add_flag("--names", arguments->redaction.names,
                   "Give kernels, functions and NVTX ranges numbers; leave out the GPU's UUID");
  redact->add_flag("--raw", arguments->redaction.raw, "Leave out raw counter data");
  invocation.When(*redact, [arguments] { return RunRedact(*arguments); });
}

}  // namespace fa_profile::cli
