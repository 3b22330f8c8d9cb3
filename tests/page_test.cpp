#include "fa_profile/page.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "fa_profile/analyze.h"
#include "fa_profile/contribution.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/simulated_fleet.h"

namespace fa_profile::prom::page_test {
namespace {

std::string Gunzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string result(1 << 22, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

std::string Text(const PageInput& input) { return *Page(MakeFamilies(input)).Render("", "").bytes; }

std::size_t Lines(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.starts_with(start) ? 1 : 0;
  return count;
}

// One GPU whose kernels have everything, with at least as many series as requested.
Totals Many(int kernels) {
  Totals totals;
  for (int i = 0; i < kernels; ++i) {
    KernelTotals& kernel = totals.gpus[0].kernels[std::string("k").append(std::to_string(i))];
    kernel.sm_active_cycles = 1;
    kernel.shapes["le_512"].launches = 2;
    for (const char* const phase : {"qk", "softmax", "pv"}) {
      PhaseTotals& sums = kernel.phases[phase];
      sums.cycles = 1;
      sums.instructions = 5;
      for (const char* const reason : {"memory", "barrier", "issue", "other"}) sums.stall_cycles[reason] = 1;
    }
  }
  return totals;
}

TEST(PageTest, AbsentValuesHaveNoSeries) {
  Totals totals;
  totals.gpus[0].kernels["k"].sm_active_cycles = 7;
  PageInput input;
  input.totals = &totals;
  const std::string text = Text(input);
  EXPECT_NE(text.find("faprof_sm_active_cycles_total{gpu=\"0\",kernel=\"k\"} 7\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("faprof_dram_bytes_total"), std::string::npos) << text;
  EXPECT_EQ(text.find("faprof_device"), std::string::npos) << text;
}

TEST(PageTest, LabelValuesAreEscaped) {
  HostReading host;
  host.gpus.emplace_back().name = "a \"b\" \\ c\nfaprof_fake 1\x1b[31m";
  PageInput input;
  input.host = &host;
  const std::string text = Text(input);
  EXPECT_NE(text.find("name=\"a \\\"b\\\" \\\\ c faprof_fake 1\uFFFD[31m\""), std::string::npos) << text;
  EXPECT_EQ(Lines(text, "faprof_fake"), 0U);
}

TEST(PageTest, HistogramsAreCumulativeAndEndWithInfinity) {
  Totals totals;
  ShapeTotals& shape = totals.gpus[0].kernels["k"].shapes["le_512"];
  shape.launches = 3;
  shape.duration_counts[0] = 1;
  shape.duration_counts.back() = 2;
  shape.duration_sum_seconds = 9.5;
  PageInput input;
  input.totals = &totals;
  const std::string text = Text(input);
  EXPECT_NE(text.find("le=\"1e-05\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("le=\"0.1\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("le=\"+Inf\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("faprof_kernel_duration_seconds_sum{gpu=\"0\",kernel=\"k\",shape=\"le_512\"} 9.5\n"),
            std::string::npos);
}

TEST(PageTest, ATimeThatIsNotKnownHasNoSeriesAndTheFirstSecondOf1970Has) {
  CollectorState collector;
  Baseline baseline;
  PageInput input;
  input.collector = &collector;
  input.baseline = &baseline;
  const auto has = [&input](const std::string& name) {
    return Text(input).find("\n" + name + " 0\n") != std::string::npos;
  };
  const std::vector<std::string> names = {"faprof_exporter_last_collection_timestamp_seconds",
                                          "faprof_exporter_last_recording_timestamp_seconds",
                                          "faprof_baseline_timestamp_seconds"};
  for (const std::string& name : names) EXPECT_EQ(Text(input).find(name), std::string::npos) << name;
  collector.last_collection = collector.last_recording = baseline.taken = 0;
  for (const std::string& name : names) EXPECT_TRUE(has(name)) << name;
}

TEST(PageTest, TheLongestPhaseIsMarkedForEachShapeBucketAndUnattributedNever) {
  Totals totals;
  auto& shapes = totals.gpus[0].kernels["k"].shapes;
  shapes["le_512"].phase_ratios = {{"pv", 0.3}, {"softmax", 0.31}, {"unattributed", 0.39}};
  shapes["le_2048"].phase_ratios = {{"pv", 0.6}, {"softmax", 0.4}};
  PageInput input;
  input.totals = &totals;
  const std::string text = Text(input);
  const auto has = [&text](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  const std::string longest = "faprof_kernel_bottleneck{gpu=\"0\",kernel=\"k\",";
  EXPECT_TRUE(has(longest + "shape=\"le_512\",bottleneck=\"softmax\"} 1")) << text;
  EXPECT_TRUE(has(longest + "shape=\"le_512\",bottleneck=\"pv\"} 0"));
  EXPECT_TRUE(has(longest + "shape=\"le_2048\",bottleneck=\"pv\"} 1"));
  EXPECT_EQ(text.find("bottleneck=\"unattributed\""), std::string::npos);
  EXPECT_TRUE(has("faprof_kernel_phase_ratio{gpu=\"0\",kernel=\"k\",shape=\"le_2048\",phase=\"softmax\"} 0.4"));
}

TEST(PageTest, AGpuStaysWithinItsSeriesBudgetAndDropsStallsFirst) {
  const Totals totals = Many(kMaxKernelLabels);
  Totals more = totals;
  for (auto& [name, kernel] : more.gpus[0].kernels) {
    for (const char* const phase : {"load_q", "load_kv", "rescale", "epilogue", "sync"}) {
      kernel.phases[phase] = kernel.phases["qk"];
    }
  }
  PageInput input;
  input.totals = &more;
  const Families families = MakeFamilies(input);
  EXPECT_GT(families.dropped, 0U);
  const std::string text = *Page(families).Render("", "").bytes;
  EXPECT_LE(Lines(text, "faprof_"), static_cast<std::size_t>(kMaxSeriesPerGpu) + 1);  // and faprof_build_info
  EXPECT_EQ(Lines(text, "faprof_"), families.series);
  EXPECT_EQ(Lines(text, "faprof_phase_cycles_total{"), 32U * 8U);  // all of them, and of the stalls what is left
  EXPECT_LT(Lines(text, "faprof_phase_stall_cycles_total{"), 32U * 8U * 4U);
}

TEST(PageTest, AKernelThatIsIdleForLongHasNoGaugesAndOneThatIsHiddenHasNoSeries) {
  Totals totals;
  for (const char* const name : {"new", "idle", "hidden"}) {
    KernelTotals& kernel = totals.gpus[0].kernels[name];
    kernel.sm_active_cycles = 1;
    kernel.gauges["faprof_kernel_registers"] = 40;
    kernel.shapes["none"].phase_ratios["qk"] = 1;
  }
  totals.gpus[0].kernels["idle"].idle_seconds = 101;
  totals.gpus[0].kernels["hidden"].hidden = true;
  PageInput input;
  input.totals = &totals;
  input.gauges_for = 100;
  const std::string text = Text(input);
  EXPECT_EQ(Lines(text, "faprof_sm_active_cycles_total"), 2U) << text;
  for (const char* const gauge : {"faprof_kernel_registers", "faprof_kernel_phase_ratio", "faprof_kernel_bottleneck"}) {
    EXPECT_EQ(Lines(text, gauge), 1U) << text;
  }
}

TEST(PageTest, AKernelThatIsHeldHasItsOldSumsAndAllOfItsSeries) {
  Totals held;
  Totals totals;
  for (const double sum : {1.0, 2.0}) {
    Totals one;
    KernelTotals& kernel = one.gpus[0].kernels["k"];
    kernel.sm_active_cycles = sum;
    kernel.shapes["none"].launches = sum;
    kernel.shapes["none"].flops = sum;
    Merge(totals, one, {&held});
  }
  PageInput input;
  input.totals = &totals;
  input.held = &held;
  const std::string text = Text(input);
  for (const char* const name : {"faprof_sm_active_cycles_total{gpu=\"0\",kernel=\"k\"}",
                                 "faprof_kernel_flops_total{gpu=\"0\",kernel=\"k\",shape=\"none\"}",
                                 "faprof_kernel_duration_seconds_count{gpu=\"0\",kernel=\"k\",shape=\"none\"}"}) {
    EXPECT_NE(text.find(std::string(name) + " 0\n"), std::string::npos) << text;
  }
}

TEST(PageTest, APageFitsEightGpusAtTheirBudget) {
  Totals totals;
  for (int gpu = 0; gpu < 16; ++gpu) totals.gpus[gpu] = Many(kMaxKernelLabels).gpus.at(0);
  PageInput input;
  input.totals = &totals;
  const Families families = MakeFamilies(input);
  EXPECT_LE(families.series, static_cast<std::size_t>(kMaxSeriesPerPage) + 1);
  EXPECT_GT(families.dropped, 0U);
}

TEST(PageTest, TheLadderStaysWithinTheUsualNumberOfSeries) {
  const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
  const Totals totals = Contribution(recording, analyze::Analyze(recording));
  PageInput input;
  input.totals = &totals;
  const Families families = MakeFamilies(input);
  // kUsualSeriesPerGpu is for seven kernels and one bucket of shapes. The ladder has eight and two buckets; the second
  // adds a histogram and phases per kernel. Three series per kernel also have an old name.
  EXPECT_LT(families.series,
            static_cast<std::size_t>(kUsualSeriesPerGpu) * 8 / 7 + 8 * (14 + 2 * (kMaxPhaseLabels + 1)) + 8 * 3);
  EXPECT_EQ(families.dropped, 0U);
}

TEST(PageTest, OpenMetricsNamesCountersWithoutTotalAndEnds) {
  Totals totals;
  totals.gpus[0].kernels["k"].sm_active_cycles = 7;
  PageInput input;
  input.totals = &totals;
  const Page page(MakeFamilies(input));
  const Page::Body body = page.Render("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "");
  EXPECT_EQ(body.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_NE(body.bytes->find("# TYPE faprof_sm_active_cycles counter\n"), std::string::npos) << *body.bytes;
  EXPECT_NE(body.bytes->find("faprof_sm_active_cycles_total{gpu=\"0\",kernel=\"k\"} 7\n"), std::string::npos);
  EXPECT_TRUE(body.bytes->ends_with("\n# EOF\n"));
}

TEST(PageTest, TheClientsPreferredFormatIsUsed) {
  const Page page(MakeFamilies({}));
  const auto is_open = [&](const std::string& accept) {
    return page.Render(accept, "").content_type.starts_with("application/openmetrics-text");
  };
  for (const char* const accept :
       {"application/openmetrics-text", "Application/OpenMetrics-Text ; Q=0.5 , text/plain;q=0.5",
        "text/plain;q=0.5,application/openmetrics-text;q=0.6", "application/openmetrics-text;q=0.2,text/plain;q=0",
        "application/openmetrics-text;q=0.2,*/*;q=0.1", "application/openmetrics-text,text/plain;q=2",
        // What Prometheus 2 and 3 send
        "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
        "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
        "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1"}) {
    EXPECT_TRUE(is_open(accept)) << accept;
  }
  for (const char* const accept :
       {"", "*/*", "text/plain", "application/openmetrics-text;q=0", "application/openmetrics-text; q=0.000",
        "application/openmetrics-text;q=0.4,text/plain;q=0.5", "application/openmetrics-text;q=0.4,text/plain",
        "application/openmetrics-text;q=0.4,*/*;q=0.5", "application/openmetrics-text;q=nan",
        "application/openmetrics-text;q=-1", "application/openmetrics-text;q=", "application/openmetrics-text;q",
        "application/openmetrics-textual", "x/application/openmetrics-text", ",;,=;q=1,"}) {
    EXPECT_FALSE(is_open(accept)) << accept;
  }
}

TEST(PageTest, GzipIsUsedOnlyForClientsThatAcceptIt) {
  const Page page(MakeFamilies({}));
  for (const char* const encodings :
       {"gzip", "GZIP", "deflate, gzip;q=0.1", "br;q=1,gzip ; q=0.8", "identity;q=0.5, gzip;q=0.5"}) {
    EXPECT_EQ(page.Render("", encodings).content_encoding, "gzip") << encodings;
  }
  for (const char* const encodings :
       {"", "identity", "gzip;q=0", "gzip; Q=0.0", "x-notgzipatall", "deflate;x=gzip", "identity, gzip;q=0.5"}) {
    EXPECT_EQ(page.Render("", encodings).content_encoding, "") << encodings;
  }
}

TEST(PageTest, TheGzippedPageIsTheSamePage) {
  Totals totals = Many(8);
  PageInput input;
  input.totals = &totals;
  const Page page(MakeFamilies(input));
  for (const char* const accept : {"", "application/openmetrics-text"}) {
    const Page::Body plain = page.Render(accept, "deflate");
    const Page::Body zipped = page.Render(accept, "gzip, deflate");
    EXPECT_EQ(plain.content_encoding, "");
    EXPECT_EQ(zipped.content_encoding, "gzip");
    EXPECT_LT(zipped.bytes->size(), plain.bytes->size() / 4);
    EXPECT_EQ(Gunzip(*zipped.bytes), *plain.bytes);
    EXPECT_EQ(page.Render(accept, "gzip").bytes, zipped.bytes);  // made once
  }
}

// Whatever is in the table must be on some page, and only that: the table is what docs and dashboards are made from.
TEST(PageTest, PagesHaveExactlyTheFamiliesOfTheCatalogue) {
  const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
  const Profile profile = analyze::Analyze(recording);
  const Totals totals = Contribution(recording, profile);
  const Baseline baseline = BaselineOf(recording, profile);
  EXPECT_NEAR(baseline.taken.value_or(0), 1.79e9, 0.1e9);
  HostReading host;
  GpuReading& gpu = host.gpus.emplace_back();
  for (auto* const value :
       {&gpu.sm_clock_hz, &gpu.sm_clock_max_hz, &gpu.memory_clock_hz, &gpu.power_watts, &gpu.power_limit_watts,
        &gpu.energy_joules, &gpu.temperature_celsius, &gpu.memory_used_bytes, &gpu.memory_total_bytes, &gpu.busy_ratio,
        &gpu.sm_active_ratio, &gpu.sm_occupancy_ratio, &gpu.tensor_active_ratio, &gpu.dram_active_ratio}) {
    *value = 0.5;
  }
  gpu.throttled["sw_thermal"] = true;
  gpu.ecc_corrected = 1;
  gpu.ecc_uncorrected = 0;
  for (std::uint64_t xid = 1; xid <= 10; ++xid) gpu.xid_errors[xid] = 1;
  GateState gate;
  gate.cases["mma 1,8,512,64"] = {"PASS", 0.01};
  CollectorState collector;
  collector.up["spool"] = true;
  collector.recordings["counted"] = 1;
  collector.last_collection = collector.last_recording = 1;
  collector.refused_states = 0;
  collector.http_requests[200] = 3;
  const SimulationInfo simulation{1, "x.fap"};
  const Families families = MakeFamilies({&totals, &host, &baseline, &gate, &collector, &simulation});
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : families.families) names.insert(family.name);
  std::size_t old = 0;
  for (const ExportedMetric& metric : ExportedMetrics()) {
    EXPECT_TRUE(names.contains(std::string(metric.name))) << metric.name;
    const std::string old_name = OldNameOf(metric.name);
    if (old_name.empty()) continue;
    EXPECT_TRUE(names.contains(old_name)) << old_name;
    ++old;
  }
  EXPECT_GT(old, 20U);
  EXPECT_EQ(names.size(), ExportedMetrics().size() + old);
  const std::string text = *Page(families).Render("", "").bytes;
  EXPECT_EQ(Lines(text, "faprof_device_xid_errors_total{"), static_cast<std::size_t>(kMaxXidLabels) + 1);
  EXPECT_NE(text.find("xid=\"other\"} 2\n"), std::string::npos);
}

class SimulatedFleetTest : public testing::Test {
 protected:
  static SimulatedFleet Fleet(int hosts) {
    const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
    return {hosts, Contribution(recording, analyze::Analyze(recording)), HostReading{}, "x.fap", 10, 1000};
  }
  static std::string At(const SimulatedFleet& fleet, int host, double now) {
    return *Page(fleet.At(host, now, nullptr)).Render("", "").bytes;
  }
  static double Value(const std::string& text, const std::string& series) {
    const std::size_t at = text.find(series + " ");
    EXPECT_NE(at, std::string::npos) << series;
    return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size() + 1));
  }
};

TEST_F(SimulatedFleetTest, SimulatedSeriesAreLabelledAsSimulated) {
  EXPECT_EQ(
      Lines(At(Fleet(2), 0, 1100), "faprof_simulation_info{simulated=\"true\",hosts=\"2\",recording=\"x.fap\"} 1"), 1U);
  EXPECT_NE(Fleet(2).Targets("127.0.0.1:9407").find("\"simulated\":\"true\""), std::string::npos);
}

TEST_F(SimulatedFleetTest, CountersOnlyGrow) {
  const SimulatedFleet fleet = Fleet(1);
  double before = 0;
  for (double now = 1000; now < 1100; now += 7) {
    const double value = Value(At(fleet, 0, now), R"(faprof_phase_cycles_total{gpu="3",kernel="mma",phase="softmax"})");
    EXPECT_GE(value, before);
    before = value;
  }
  EXPECT_GT(before, 0);
}

TEST_F(SimulatedFleetTest, OneGpuOfTheFleetIsSlowerAndNoOther) {
  const SimulatedFleet fleet = Fleet(3);
  for (int host = 0; host < 3; ++host) {
    const std::string text = At(fleet, host, 5000);
    for (int gpu = 0; gpu < kSimulatedGpusPerHost; ++gpu) {
      const std::string labels = "{gpu=\"" + std::to_string(gpu) + R"(",kernel="tiled",shape="le_512"})";
      const double mean = Value(text, "faprof_kernel_duration_seconds_sum" + labels) /
                          Value(text, "faprof_kernel_duration_seconds_count" + labels);
      const double fastest =
          Value(At(fleet, 0, 5000), R"(faprof_kernel_duration_seconds_sum{gpu="0",kernel="tiled",shape="le_512"})") /
          Value(At(fleet, 0, 5000), R"(faprof_kernel_duration_seconds_count{gpu="0",kernel="tiled",shape="le_512"})");
      const bool outlier = host == kOutlierHost && gpu == kOutlierGpu;
      EXPECT_NEAR(mean / fastest, outlier ? kOutlierSlowdown : 1, 0.03) << host << " " << gpu;
    }
  }
}

TEST_F(SimulatedFleetTest, OnePhaseOfOneGpuChangesOverTime) {
  const SimulatedFleet fleet = Fleet(1);
  const auto share = [&](int gpu, double from, double to) {
    const std::string labels = "{gpu=\"" + std::to_string(gpu) + R"(",kernel="mma")";
    const auto grown = [&](const std::string& series) {
      return Value(At(fleet, 0, to), series) - Value(At(fleet, 0, from), series);
    };
    return grown("faprof_phase_cycles_total" + labels + R"(,phase="softmax"})") /
           grown("faprof_sm_active_cycles_total" + labels + "}");
  };
  const double usual = share(kChangedGpu, 1020, 1100);
  const double changed = usual * kChangedSlowdown / (1 + usual * (kChangedSlowdown - 1));
  EXPECT_NEAR(share(kChangedGpu, 1200, 2000), changed, 0.001);
  EXPECT_NEAR(share(kChangedGpu + 1, 1200, 2000), usual, 0.001);
}

// A host that repeats the baseline's recording is at its baseline.
TEST_F(SimulatedFleetTest, ARecordingEqualsItsOwnBaseline) {
  const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
  const Profile profile = analyze::Analyze(recording);
  const Baseline baseline = BaselineOf(recording, profile);
  const Totals totals = Contribution(recording, profile);
  for (const auto& [name, kernel] : totals.gpus.at(0).kernels) {
    for (const auto& [shape, calls] : kernel.shapes) {
      EXPECT_DOUBLE_EQ(baseline.durations_seconds.at({name, shape}), calls.duration_sum_seconds / calls.launches);
    }
    for (const auto& [phase, sums] : kernel.phases) {
      EXPECT_NEAR(baseline.phase_ratios.at({name, phase}), sums.cycles / *kernel.sm_active_cycles, 1e-6)
          << name << phase;
    }
  }
}

TEST_F(SimulatedFleetTest, HostsAreFoundByName) {
  const SimulatedFleet fleet = Fleet(12);
  EXPECT_EQ(fleet.FindHost("sim-host-011"), 11);
  EXPECT_EQ(fleet.FindHost("sim-host-012"), std::nullopt);
  EXPECT_EQ(fleet.FindHost("../../etc/passwd"), std::nullopt);
  EXPECT_THROW((void)fleet.At(12, 1100, nullptr), std::out_of_range);
}

}  // namespace
}  // namespace fa_profile::prom::page_test
