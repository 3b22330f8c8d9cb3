// What a redacted recording no longer contains, and what it still says.
#include "fa_profile/redact.h"

#include <gtest/gtest.h>

#include "fa_profile/error.h"
#include "fa_profile/line_table.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/recording_file.h"
#include "sample_cubins.h"
#include "test_files.h"

namespace fa_profile::load::redact_test {
namespace {

// A program's recording with "secret" in every name and path, and in the code.
Recording SecretProgram() {
  Recording r;
  r.session.command_line = "fa-profile -- /data/secret/train.py --token secret";
  r.session.replay_mode = "spread";
  r.session.complete = true;
  r.device.name = "NVIDIA H200";
  r.device.uuid = "GPU-secret";
  r.cases = {{1, "secret_kernel<<<64, 128>>>", "program", std::nullopt},
             {2, "secret_gemm<<<8, 128>>>", "program", std::nullopt},
             {3, "CUDA graph 7", "program", std::nullopt}};
  for (std::int64_t id = 1; id <= 2; ++id) {
    Launch launch;
    launch.id = launch.case_id = id;
    launch.kernel_name = id == 1 ? "void secret_kernel<secret::Traits>(int)" : "secret_gemm(float*)";
    r.launches.push_back(launch);
    r.kernel_work.push_back({1, id, 10, 0, 1000 * id, 100, 100 * id});
  }
  r.watch_windows = {{1, 1, 1'000'000, 3000, 0}};
  r.nvtx_work = {{1, "secret step", 0, 1, 10, 20, 3000}, {1, "secret step / secret: attn", 1, 1, 10, 20, 2000}};
  r.configs = {{1, "GH100", 1, {"sm__cycles_active.avg"}}};
  r.ranges = {{1, 1, "", "secret class", 0, 0, {{"sm__cycles_active.avg", 5.0}}}};
  r.cubins = {{1, 11, {'s', 'e', 'c', 'r', 'e', 't'}}, {2, 12, {1}}};
  const Instruction first{0, "", "FFMA", "R1, R2, R3, R4", {{"secret::row_max", "/data/secret/a.cu", 3}}};
  const Instruction call{16, "", "CALL.REL.NOINC", "`(secret_helper)", {}};
  r.functions = {{21, 11, "_Z13secret_kernelIN6secret6TraitsEEvi", {first, call}},
                 {22, 12, "_Z11secret_gemmPf", {first}}};
  for (std::int64_t id = 1; id <= 2; ++id) {
    PcSampling sampling;
    sampling.id = 30 + id;
    sampling.case_id = id;
    sampling.total_samples = 4;
    sampling.samples = {{20 + id, 0, {{"wait", 4}}}};
    r.samplings.push_back(sampling);
  }
  r.losses = {{"pass_missing", "secret_kernel", "secret_gemm(float*) ended in /data/secret/x", 1},
              {"other", "a secret thing", "of /data/secret/run.fap: out of memory", 1},
              {"metric_unavailable", "dram__bytes.sum", "no", 1}};
  return r;
}

class RedactTest : public FolderTest {
 protected:
  std::string Write(const Recording& recording) const {
    const std::string path = folder_ / "a.fap";
    store::RecordingWriter writer(path, true);
    store::WriteRecording(recording, nullptr, writer);
    writer.Finish();
    return path;
  }
  std::string Copy() const { return folder_ / "b.fap"; }
  static Recording Read(const std::string& path) {
    return store::RecordingReader(path).Load(store::LoadOptions{{}, true, true});
  }
};

TEST_F(RedactTest, KernelsAreNamedAsInTheReportAndMustBeThere) {
  Redaction code;
  code.code = true;
  code.kernels = "^secret_kernel";  // its function has another name
  Recording program = SecretProgram();
  EXPECT_GT(Redact(program, code).functions, 0u);
  EXPECT_THROW((void)Redact(program, code), Error) << "its code is gone already";
  Recording whole = SecretProgram();
  code.kernels = "no such kernel";
  EXPECT_THROW((void)Redact(whole, code), Error);
}

TEST_F(RedactTest, TheOriginalIsNotReplaced) {
  Redaction raw;
  raw.raw = true;
  const std::string path = Write(SecretProgram());
  EXPECT_THROW((void)RedactFile(path, path, raw, true), Error);
}

TEST_F(RedactTest, WithoutNamesNoLossHoldsTheIdOfTheGpu) {
  Recording program = SecretProgram();
  program.device.uuid = "GPU-1234";
  program.losses.push_back({"nvml", "NVML", "it did not answer for GPU-1234", 1});
  Redaction names;
  names.names = true;
  (void)Redact(program, names);
  for (const DataLoss& loss : program.losses) EXPECT_EQ(loss.reason.find("GPU-1234"), std::string::npos);
}

TEST_F(RedactTest, ALibrarysParametersAndTensorsAreNames) {
  Recording recording = SecretProgram();
  recording.cases.push_back({9, "secret_gemm", "/data/secret/gemm.so", Shape({{"secret_m", 64}, {"secret_n", 32}})});
  recording.verifications.push_back({9, 1, 0, 1.0, 9.0, 0, 0, "", "secret[3]: 1, expected 2"});
  recording.losses.push_back({"kernel_skipped", "gemm@secret_m=64,secret_n=32", "no", 1});
  Redaction names;
  names.names = true;
  (void)RedactFile(Write(recording), Copy(), names, false);
  EXPECT_EQ(ReadFile(Copy()).find("secret_"), std::string::npos);
  const Recording copy = Read(Copy());
  EXPECT_EQ(copy.cases.back().shape->ToString(), "p1=64,p2=32");
  EXPECT_EQ(copy.verifications.back().where, "redacted");
}

TEST_F(RedactTest, NothingOfItIsLeftInTheFile) {
  Redaction all;
  all.code = all.paths = all.names = all.raw = true;
  (void)RedactFile(Write(SecretProgram()), Copy(), all, false);
  EXPECT_EQ(ReadFile(Copy()).find("secret"), std::string::npos);
}

TEST_F(RedactTest, CodeMayStayWithoutNamesAndPaths) {
  Redaction both;
  both.names = both.paths = true;
  (void)RedactFile(Write(SecretProgram()), Copy(), both, false);
  EXPECT_EQ(ReadFile(Copy()).find("secret"), std::string::npos);
  const Recording r = Read(Copy());
  ASSERT_EQ(r.functions.size(), 2U);
  for (const DeviceFunction& function : r.functions) {  // operands are packed in the file
    for (const Instruction& i : function.instructions) EXPECT_EQ(i.operands.find("secret"), std::string::npos);
  }
}

TEST_F(RedactTest, CodeGoesWithEveryCubin) {
  Recording recording = SecretProgram();
  recording.cubins.push_back({3, 13, {1, 2}});  // without a sampled function
  Redaction code;
  code.code = true;
  EXPECT_EQ(RedactFile(Write(recording), Copy(), code, false).cubins, 3U);
  EXPECT_TRUE(Read(Copy()).cubins.empty());
}

TEST_F(RedactTest, NamesBecomeNumbersThatAgree) {
  Redaction names;
  names.names = true;
  const Redacted redacted = RedactFile(Write(SecretProgram()), Copy(), names, false);
  EXPECT_EQ(redacted.cubins, 2U);
  const Recording r = Read(Copy());
  EXPECT_EQ(r.cases[0].kernel, "kernel_1<<<64, 128>>>");
  EXPECT_EQ(r.launches[0].kernel_name, "kernel_1");
  EXPECT_EQ(r.functions[0].name, "kernel_1");
  EXPECT_EQ(r.functions[1].name, "kernel_2");
  EXPECT_EQ(r.cases[2].kernel, "CUDA graph 7");
  EXPECT_EQ(r.nvtx_work[0].path, "range_1");
  EXPECT_EQ(r.nvtx_work[1].path, "range_1 / range_2");
  ASSERT_EQ(r.functions[0].instructions.size(), 2U);
  EXPECT_EQ(r.functions[0].instructions[0].operands, "R1, R2, R3, R4");
  EXPECT_EQ(r.functions[0].instructions[1].operands, "");
  EXPECT_TRUE(r.device.uuid.empty());
  // Samples and counts stay.
  EXPECT_EQ(r.samplings.size(), 2U);
  EXPECT_EQ(r.ranges[0].metrics.at("sm__cycles_active.avg"), 5.0);
  EXPECT_EQ(r.kernel_work.size(), 2U);
  EXPECT_EQ(r.losses[0].subject, "kernel_name_1");
  EXPECT_EQ(r.losses[1].subject, "");
  EXPECT_EQ(r.losses[2].subject, "dram__bytes.sum");
}

TEST_F(RedactTest, CodeOfSomeKernelsGoesWithItsSamples) {
  Redaction code;
  code.code = true;
  code.kernels = "gemm";
  const Redacted redacted = RedactFile(Write(SecretProgram()), Copy(), code, false);
  EXPECT_EQ(redacted.functions, 1U);
  EXPECT_EQ(redacted.cubins, 1U);
  const Recording r = Read(Copy());
  ASSERT_EQ(r.functions.size(), 1U);
  EXPECT_EQ(r.functions[0].id, 21);
  ASSERT_EQ(r.samplings.size(), 1U);
  EXPECT_EQ(r.samplings[0].case_id, 1);
  ASSERT_EQ(r.cubins.size(), 1U);
  EXPECT_EQ(r.cubins[0].crc, 11U);
}

TEST_F(RedactTest, CodeOfClosedLibrariesIsKnownByItsNames) {
  for (const char* const name : {
           "nvjet_sm90_hss_128x128_64x6_2x1_v_bz_TNT",
           "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128",
           "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__"
           "5x_"
           "cublas",
           "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn",
           "volta_h884gemm_64x128_ldg8_nn",
           "_ZN7cutlass7Kernel2I66cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_64x2_nn_align8EEvNT_6ParamsE",
           "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiEEvi",
           "_Z6gemmSNIfLi128ELi16EEvi",
           "_ZN5cudnn3ops13nchwToNhwcKernelI6__halfEEvi",
       }) {
    EXPECT_TRUE(IsClosedCode(name)) << name;
  }
  for (const char* const name : {
           "_ZN10fa_profile48_GLOBAL__N__da485928_15_rung4_cublas_cu_f6dd503716RowSoftmaxKernelEPKfP6__halfjiib",
           "_ZN10fa_profile6hopper48_GLOBAL__N__7615f673_15_rung8_hopper_cu_80848d8813HopperForwardIiEEvi",
           "_Z39fmha_cutlassF_f16_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionKernelIN7cutlass6half_tEEE",
           "_ZN13pytorch_flash16flash_fwd_kernelIN7cutlass6half_tEEEvi",
           "attend_causal",
       }) {
    EXPECT_FALSE(IsClosedCode(name)) << name;
  }
}

TEST_F(RedactTest, CodeOfClosedLibrariesGoesWithEveryCubinThatHoldsIt) {
  Recording recording = SecretProgram();
  recording.functions[1].name = "nvjet_sm90_hss_128x128_64x6_2x1_v_bz_TNT";
  const std::vector<std::uint8_t> sample = SampleCubin("sm_90a.cubin");
  recording.cubins = {{1, 11, sample}, {2, 12, sample}, {3, 13, {1, 2}}};
  Redaction closed;
  closed.closed_code = true;
  const Redacted redacted = RedactFile(Write(recording), Copy(), closed, false);
  EXPECT_EQ(redacted.functions, 1U);
  EXPECT_EQ(redacted.cubins, 2U) << "a cubin that cannot be read may hold anything";
  const Recording r = Read(Copy());
  ASSERT_EQ(r.cubins.size(), 1U);
  EXPECT_EQ(r.cubins[0].crc, 11U);
  ASSERT_EQ(r.samplings.size(), 1U);
  EXPECT_EQ(r.samplings[0].case_id, 1);
  EXPECT_EQ(r.ranges.size(), recording.ranges.size()) << "figures stay";
  EXPECT_EQ(r.losses.back().kind, "redacted");
}

TEST_F(RedactTest, OtherFunctionsOfACallKeepTheirShare) {
  Recording recording = SecretProgram();
  const InlineFrame frame{"main", "a.cu", 1};
  recording.cubins.clear();
  recording.functions[1].name = "nvjet_sm90_hss_128x128";
  recording.functions[1].instructions = {{0, "", "HGMMA", "R1", {frame}}, {16, "", "EXIT", "", {frame}}};
  recording.samplings[0].samples = {
      {21, 0, {{"wait", 4}}}, {22, 0, {{"wait", 5}}}, {22, 16, {{"wait", 6}, {"barrier", 1}}}};
  SassCounting counting{40, 1, "", {{21, 0, {{"smsp__sass_inst_executed", 7}}}}};
  counting.counts.push_back({22, 0, {{"smsp__sass_inst_executed", 8}}});
  counting.counts.push_back({22, 16, {{"smsp__sass_inst_executed", 9}}});
  recording.countings = {counting};
  Redaction closed;
  closed.closed_code = true;
  (void)RedactFile(Write(recording), Copy(), closed, false);
  const Recording r = Read(Copy());
  ASSERT_EQ(r.samplings.size(), 1U) << "of the second call nothing else was sampled";
  ASSERT_EQ(r.samplings[0].samples.size(), 2U);
  EXPECT_EQ(r.samplings[0].samples[1].function_id, 22);
  EXPECT_EQ(r.samplings[0].samples[1].samples, (std::map<std::string, std::uint64_t>{{"wait", 11}, {"barrier", 1}}));
  ASSERT_EQ(r.countings.at(0).counts.size(), 2U);
  EXPECT_EQ(r.countings[0].counts[1].values.at("smsp__sass_inst_executed"), 17U);
  ASSERT_EQ(r.functions.size(), 2U);
  EXPECT_TRUE(r.functions[1].instructions.empty());
}

TEST_F(RedactTest, CubinsStayWithoutTheirPaths) {
  Recording recording = SecretProgram();
  const std::vector<std::uint8_t> sample = SampleCubin("sm_90a.cubin");
  recording.cubins = {{1, 11, sample}, {2, 12, SampleCubin("sm_90a_debug.cubin")}};
  Redaction paths;
  paths.paths = true;
  EXPECT_EQ(RedactFile(Write(recording), Copy(), paths, false).cubins, 1U) << "-G writes paths in other places too";
  const Recording r = Read(Copy());
  ASSERT_EQ(r.cubins.size(), 1U);
  EXPECT_EQ(r.cubins[0].bytes.size(), sample.size());
  const std::vector<InlineFrame> before = sass::LineTable(sample).Frames(kReduce, 0);
  const std::vector<InlineFrame> after = sass::LineTable(r.cubins[0].bytes).Frames(kReduce, 0);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(before[0].file, "/src/kernels.cu");
  EXPECT_EQ(after[0].file, "kernels.cu");
  EXPECT_EQ(after[0].line, before[0].line);
}

TEST_F(RedactTest, PathsBelowTheRepositoryStay) {
  Recording recording = SecretProgram();
  recording.functions[0].instructions[0].frames[0].file = "kernels/./hopper/a.cuh";
  recording.functions[1].instructions[0].frames[0].file = "../../b.cu";
  Redaction paths;
  paths.paths = true;
  (void)RedactFile(Write(recording), Copy(), paths, false);
  const Recording r = Read(Copy());
  EXPECT_EQ(r.functions[0].instructions[0].frames[0].file, "kernels/hopper/a.cuh");
  EXPECT_EQ(r.functions[1].instructions[0].frames[0].file, "b.cu");
}

TEST_F(RedactTest, PathsLoseTheirFolders) {
  Redaction paths;
  paths.paths = true;
  (void)RedactFile(Write(SecretProgram()), Copy(), paths, false);
  const Recording r = Read(Copy());
  EXPECT_EQ(r.functions[0].instructions[0].frames[0].file, "a.cu");
  EXPECT_EQ(r.functions[0].name, "_Z13secret_kernelIN6secret6TraitsEEvi");
  EXPECT_EQ(r.losses[0].reason, "secret_gemm(float*) ended in x");
  EXPECT_EQ(r.losses[1].reason, "of run.fap: out of memory");
  EXPECT_EQ(r.session.command_line, "fa-profile (redacted)");
  EXPECT_TRUE(r.cubins.empty()) << "nothing tells whether bytes that are not a cubin hold paths";
}

TEST_F(RedactTest, TheReaderIsToldWhatIsGone) {
  Redaction all;
  all.code = all.paths = all.names = all.raw = true;
  (void)RedactFile(Write(SecretProgram()), Copy(), all, false);
  std::set<std::string> gone;
  for (const DataLoss& loss : LoadProfile(Copy()).second.losses) {
    if (loss.kind == "redacted") gone.insert(loss.subject);
  }
  EXPECT_EQ(gone, (std::set<std::string>{"functions", "cubins", "names", "paths", "raw counter data"}));
}

TEST_F(RedactTest, TheBundledRecordingCanBeReadWithoutNames) {
  Redaction names;
  names.names = true;
  (void)RedactFile(FA_PROFILE_BUNDLED_RECORDING, Copy(), names, false);
  const Profile before = LoadProfile(FA_PROFILE_BUNDLED_RECORDING).second;
  const Profile after = LoadProfile(Copy()).second;
  ASSERT_EQ(after.entries.size(), before.entries.size());
  for (std::size_t i = 0; i < after.entries.size(); ++i) {
    EXPECT_EQ(after.entries[i].metrics, before.entries[i].metrics) << before.entries[i].kernel;
  }
}

TEST_F(RedactTest, AnExistingFileAndAKilledRunAreRefused) {
  Redaction raw;
  raw.raw = true;
  const std::string path = Write(SecretProgram());
  WriteFile(Copy(), "mine");
  EXPECT_THROW(RedactFile(path, Copy(), raw, false), Error);
  EXPECT_EQ(ReadFile(Copy()), "mine");
  {
    store::RecordingWriter writer(folder_ / "killed.fap");
    writer.Write(Session{});
    writer.Commit();
    std::filesystem::copy(writer.part_path(), folder_ / "copy.fap.part");
  }
  EXPECT_THROW(RedactFile(folder_ / "copy.fap.part", folder_ / "c.fap", raw, false), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.fap"));
}

}  // namespace
}  // namespace fa_profile::load::redact_test
