// The extension fa_profile._core: what the Python package needs from the libraries. fa_profile/_core.pyi has its types.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cmath>
#include <exception>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "arrow_stream.h"
#include "fa_profile/analyze.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/phase_map_file.h"
#include "fa_profile/report.h"
#include "fa_profile/thresholds.h"
#include "fa_profile/version.h"
#include "gate_recording.h"
#include "tables.h"

namespace fa_profile::python {
namespace {

namespace nb = nanobind;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

// Recordings contain programs' names for their kernels: bytes that are not UTF-8 are escaped.
nb::object ToStr(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

nb::object ToPython(const Cell& cell) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(const std::string& text) const { return ToStr(text); }
    nb::object operator()(double number) const { return nb::float_(number); }
    nb::object operator()(std::int64_t count) const { return nb::int_(count); }
    nb::object operator()(bool flag) const { return nb::bool_(flag); }
  };
  return std::visit(Visitor(), cell);
}

constexpr std::array<std::pair<Kind, const char*>, 4> kKinds = {
    {{Kind::kText, "text"}, {Kind::kNumber, "number"}, {Kind::kCount, "count"}, {Kind::kFlag, "flag"}}};

const char* NameOf(Kind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "text";
}

Kind KindOf(const std::string& word) {
  for (const auto& [kind, name] : kKinds) {
    if (word == name) return kind;
  }
  throw Error("unknown kind of column '" + word + "'", "a column holds text, number, count or flag");
}

// [(name, kind, cells)]
nb::list ToPython(const Table& table) {
  nb::list columns;
  for (const Column& column : table) {
    nb::list cells;
    for (const Cell& cell : column.cells) cells.append(ToPython(cell));
    columns.append(nb::make_tuple(ToStr(column.name), NameOf(column.kind), cells));
  }
  return columns;
}

// NumPy marks an absent number with NaN.
Cell CellOf(nb::handle value, Kind kind) {
  if (value.is_none()) return {};
  switch (kind) {
    case Kind::kText:
      return nb::cast<std::string>(value);
    case Kind::kNumber: {
      const auto number = nb::cast<double>(value);
      return std::isnan(number) ? Cell() : Cell(number);
    }
    case Kind::kCount:
      return nb::cast<std::int64_t>(value);
    case Kind::kFlag:
      return nb::cast<bool>(value);
  }
  return {};
}

Table TableOf(const nb::list& columns) {
  Table table;
  for (const nb::handle one : columns) {
    const auto parts = nb::cast<nb::tuple>(one);
    if (parts.size() != 3) throw nb::type_error("a column is a name, a kind and cells");
    Column& column =
        table.emplace_back(Column{nb::cast<std::string>(parts[0]), KindOf(nb::cast<std::string>(parts[1])), {}});
    for (const nb::handle cell : nb::cast<nb::list>(parts[2])) column.cells.push_back(CellOf(cell, column.kind));
  }
  return table;
}

nb::capsule ArrowCapsule(const nb::list& columns) {
  return nb::steal<nb::capsule>(PyCapsule_New(NewArrowStream(TableOf(columns)), kArrowStream, [](PyObject* capsule) {
    FreeArrowStream(static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kArrowStream)));
  }));
}

nb::list ToPython(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(ToStr(text));
  return list;
}

template <typename Pairs>
nb::dict DictOf(const Pairs& pairs) {
  nb::dict dict;
  for (const auto& [name, cell] : pairs) dict[name] = ToPython(cell);
  return dict;
}

// Empty texts and zeros of a device or session mean unknown.
Cell Known(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell Known(std::int64_t count) { return count == 0 ? Cell() : Cell(count); }

nb::dict DeviceOf(const Profile& profile) {
  const Device& device = profile.device;
  return DictOf(std::vector<std::pair<const char*, Cell>>{
      {"name", Known(device.name)},
      {"chip", Known(device.chip)},
      {"uuid", Known(device.uuid)},
      {"compute_capability",
       std::to_string(device.compute_capability_major) + "." + std::to_string(device.compute_capability_minor)},
      {"sm_count", Known(device.sm_count)},
      {"memory_bytes", Known(device.memory_bytes)},
      {"l2_bytes", Known(device.l2_bytes)},
      {"sm_clock_max_hz", Known(device.sm_clock_max_hz)},
      {"driver_version", Known(device.driver_version)},
      {"cuda_driver_version", Known(device.cuda_driver_version)},
      {"cuda_runtime_version", Known(device.cuda_runtime_version)},
  });
}

nb::dict SessionOf(const Profile& profile) {
  const Session& session = profile.session;
  return DictOf(std::vector<std::pair<const char*, Cell>>{
      {"created_at", Known(session.created_at)},
      {"command_line", Known(session.command_line)},
      {"metric_set", Known(session.metric_set)},
      {"replay_mode", Known(session.replay_mode)},
      {"cache_policy", Known(session.cache_policy)},
      {"tool_version", Known(session.tool_version)},
      {"tool_commit", Known(session.tool_commit)},
      {"complete", session.complete},
  });
}

// For a watched program; None: the recording is of another kind.
nb::object ProgramOf(const Profile& profile) {
  if (!profile.program) return nb::none();
  const ProgramUse& use = *profile.program;
  const auto share = [](const std::optional<double>& ratio) { return ratio ? Cell(*ratio) : Cell(); };
  return DictOf(std::vector<std::pair<const char*, Cell>>{
      {"watched_ns", use.watched_ns},
      {"busy_ns", use.busy_ns},
      {"busy_ratio", share(use.busy_ratio)},
      {"launches", use.launches},
      {"graph_launches", use.graph_launches},
      {"kernel_ns", use.kernel_ns},
      {"memory_ns", use.memory_ns},
      {"nvtx_ratio", share(use.nvtx_ratio)},
  });
}

PhaseSource SourceOf(const std::string& from, bool has_map) {
  if (from == "map" && !has_map) throw Error("phase_from='map' needs a phase map", "give one: phase_map='FILE.yaml'");
  static const std::map<std::string, PhaseSource> sources = {{"best", PhaseSource::kBest},
                                                             {"map", PhaseSource::kMap},
                                                             {"functions", PhaseSource::kFunctions},
                                                             {"code", PhaseSource::kCode},
                                                             {"opcodes", PhaseSource::kOpcodes}};
  const auto found = sources.find(from);
  if (found == sources.end()) {
    throw Error("unknown phase_from '" + from + "'", "use best, map, functions, code or opcodes");
  }
  return found->second;
}

// Paths are bytes, as the file system has them.
std::string PathOf(const nb::bytes& path) { return {path.c_str(), path.size()}; }

Profile Open(const nb::bytes& file, const std::optional<nb::bytes>& map_file, const std::string& from) {
  const std::string path = PathOf(file);
  const std::string map_path = map_file ? PathOf(*map_file) : "";
  const nb::gil_scoped_release unlocked;
  std::optional<PhaseMap> map;
  if (!map_path.empty()) map = load::LoadPhaseMap(map_path);
  return load::LoadProfile(path, map, /*cubins=*/false, SourceOf(from, map.has_value())).second;
}

std::string Report(const Profile& profile, const std::string& format, int width) {
  std::ostringstream out;
  exporters::ReportOptions options;
  options.width = std::max(width, 40);
  if (format == "text") {
    exporters::WriteTextReport(out, profile, options);
  } else if (format == "json") {
    exporters::WriteJsonReport(out, profile, options);
  } else if (format == "jsonl") {
    exporters::WriteJsonLinesReport(out, profile, options);
  } else if (format == "csv") {
    exporters::WriteCsvReport(out, profile, options);
  } else {
    throw Error("unknown format '" + format + "'",
                "use text, json, jsonl or csv; the program fa-profile writes the others");
  }
  return std::move(out).str();
}

// A difference, and its text as printed by fa-profile diff.
struct Difference {
  ProfileDiff diff;
  std::string text;
};

Difference Compare(const Profile& before, const Profile& after, double min_ratio) {
  if (!(min_ratio >= 0.0)) throw Error("min_ratio is negative or NaN", "give the least relative change, like 0.02");
  Difference difference{analyze::Diff(before, after, min_ratio), {}};
  std::ostringstream out;
  exporters::WriteTextDiff(out, difference.diff, before, after);
  difference.text = std::move(out).str();
  return difference;
}

gate::GateResult Gate(const nb::bytes& candidate, const std::vector<nb::bytes>& baseline, const std::string& thresholds,
                      const std::string& thresholds_name) {
  Question question{PathOf(candidate), {}, thresholds, thresholds_name};
  for (const nb::bytes& path : baseline) question.baseline.push_back(PathOf(path));
  const nb::gil_scoped_release unlocked;
  return JudgeRecording(question);
}

nb::list CasesOf(const gate::GateResult& result) {
  nb::list cases;
  for (const gate::CaseVerdict& one : result.cases) {
    cases.append(
        nb::make_tuple(ToStr(one.kernel), ToStr(one.shape), ToStr(gate::ToString(one.verdict)), ToStr(one.headline)));
  }
  return cases;
}

// `brief`: without the cases that passed, unless all did.
nb::object TextOf(const gate::GateResult& result, bool brief) {
  if (!brief || result.verdict == gate::Verdict::kPass) return ToStr(gate::GateText(result));
  gate::GateResult some = result;
  const auto passed =
      std::erase_if(some.cases, [](const gate::CaseVerdict& one) { return one.verdict == gate::Verdict::kPass; });
  if (passed > 0) some.notes.push_back(std::to_string(passed) + " more " + (passed == 1 ? "case" : "cases") + ": PASS");
  return ToStr(gate::GateText(some));
}

// If nothing listens, NVTX's functions return at once. The names of domains are few, and live as long as the process.
nvtxDomainHandle_t DomainOf(const std::string& name) {
  static auto* const domains = new std::map<std::string, nvtxDomainHandle_t>;  // under the GIL
  const auto [found, is_new] = domains->try_emplace(name, nullptr);
  if (is_new) found->second = nvtxDomainCreateA(name.c_str());
  return found->second;
}

void Push(const std::string& name, const std::optional<std::string>& domain) {
  if (!domain) {
    (void)nvtxRangePushA(name.c_str());
    return;
  }
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  (void)nvtxDomainRangePushEx(DomainOf(*domain), &attributes);
}

void Pop(const std::optional<std::string>& domain) {
  if (domain) {
    (void)nvtxDomainRangePop(DomainOf(*domain));
  } else {
    (void)nvtxRangePop();
  }
}

// fa_profile.Error(message, hint) in Python.
void RaiseError(const std::exception_ptr& pending, void*) {
  try {
    std::rethrow_exception(pending);
  } catch (const Error& error) {
    try {
      const nb::object type = nb::module_::import_("fa_profile._error").attr("Error");
      const nb::object value = type(ToStr(error.Headline()), ToStr(error.hint()));
      PyErr_SetObject(type.ptr(), value.ptr());
    } catch (nb::python_error& broken) {
      broken.restore();
    }
  }
}

void BindRecording(nb::module_& module) {
  nb::class_<Profile>(module, "Recording")
      .def("kernels", [](const Profile& profile) { return ToPython(KernelTable(profile)); })
      .def("phases", [](const Profile& profile) { return ToPython(PhaseTableOf(profile)); })
      .def("metrics", [](const Profile& profile) { return ToPython(MetricTable(profile)); })
      .def("findings", [](const Profile& profile) { return ToPython(FindingTable(profile)); })
      .def("timeline", [](const Profile& profile) { return ToPython(TimelineTable(profile)); })
      .def("nvtx", [](const Profile& profile) { return ToPython(NvtxTable(profile)); })
      .def("layers", [](const Profile& profile) { return ToPython(LayerTable(profile)); })
      .def("memory", [](const Profile& profile) { return ToPython(MemoryTable(profile)); })
      .def("losses", [](const Profile& profile) { return ToPython(LossTable(profile)); })
      .def("device", DeviceOf)
      .def("session", SessionOf)
      .def("program", ProgramOf)
      .def("report", Report, nb::arg("format"), nb::arg("width"), Unlocked())
      .def("diff", Compare, nb::arg("after"), nb::arg("min_ratio"), Unlocked());
  nb::class_<Difference>(module, "Difference")
      .def("changes", [](const Difference& self) { return ToPython(ChangeTable(self.diff)); })
      .def("waits", [](const Difference& self) { return ToPython(WaitChangeTable(self.diff)); })
      .def("findings", [](const Difference& self) { return ToPython(FindingChangeTable(self.diff)); })
      .def("incomparable", [](const Difference& self) { return ToPython(self.diff.incomparable); })
      .def("notes", [](const Difference& self) { return ToPython(self.diff.notes); })
      .def("only_before", [](const Difference& self) { return ToPython(self.diff.only_before); })
      .def("only_after", [](const Difference& self) { return ToPython(self.diff.only_after); })
      .def("text", [](const Difference& self) { return ToStr(self.text); });
  module.def("open", Open, nb::arg("path"), nb::arg("phase_map").none(), nb::arg("phase_from"));
}

void BindGate(nb::module_& module) {
  nb::class_<gate::GateResult>(module, "GateResult")
      .def("verdict", [](const gate::GateResult& result) { return gate::ToString(result.verdict); })
      .def("headline", [](const gate::GateResult& result) { return ToStr(result.headline); })
      .def("text", TextOf, nb::arg("brief"))
      .def("json", [](const gate::GateResult& result) { return ToStr(gate::GateJson(result)); })
      .def("exit_code", gate::ExitCode, nb::arg("strict"))
      .def("cases", CasesOf);
  module.def(
      "check_thresholds",
      [](const std::string& text, const std::string& name) {
        if (!text.empty()) (void)gate::ParseThresholds(text, name);
      },
      nb::arg("text"), nb::arg("name"));
  module.def("metric_sets", [] { return ToPython(MetricSetNames()); });
  module.def("gate", Gate, nb::arg("candidate"), nb::arg("baseline"), nb::arg("thresholds"),
             nb::arg("thresholds_name"));
}

}  // namespace
}  // namespace fa_profile::python

// NOLINTNEXTLINE(readability-identifier-naming): the name of Python's module
NB_MODULE(_core, module) {
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // a notebook may keep recordings until the process ends
  nb::register_exception_translator(fa_profile::python::RaiseError);
  module.def("version", [] { return std::string(fa_profile::Version()); });
  module.def("commit", [] { return std::string(fa_profile::Commit()); });
  module.def("arrow_stream", fa_profile::python::ArrowCapsule, nb::arg("columns"));
  module.def("range_push", fa_profile::python::Push, nb::arg("name"), nb::arg("domain").none());
  module.def("range_pop", fa_profile::python::Pop, nb::arg("domain").none());
  fa_profile::python::BindRecording(module);
  fa_profile::python::BindGate(module);
}
