// How a recording gets the instructions that the library inside a program left out.
#include "fa_profile/disassemble_recording.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "sample_cubins.h"

namespace fa_profile::load::disassemble_recording_test {
namespace {

class DisassembleRecordingTest : public FolderTest {
 protected:
  std::string Path() const { return folder_ / "program.fap"; }

  // One kernel of a program, sampled at two instructions.
  void WriteProgram(std::vector<std::uint8_t> cubin) const {
    store::RecordingWriter writer(Path());
    writer.Write(Session{});
    writer.Write(Device{});
    writer.Write(Case{1, "reduce<<<64, 128>>>", "program", std::nullopt});
    writer.Write(Cubin{1, 7, std::move(cubin)});
    writer.Write(DeviceFunction{2, 7, kReduce, {}});
    PcSampling sampling;
    sampling.id = 3;
    sampling.case_id = 1;
    sampling.samples = {{2, 0, {{"wait", 5}}}, {2, 16, {{"selected", 6}}}};
    writer.Write(sampling);
    writer.Finish();
  }
  Recording Read() const { return store::RecordingReader(Path()).Load(store::LoadOptions{{}, true, true}); }
};

TEST_F(DisassembleRecordingTest, FunctionsGetTheirInstructionsAndNothingElseChanges) {
  if (!sass::FindNvdisasm()) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches one";
  WriteProgram(SampleCubin("sm_90a.cubin"));
  EXPECT_TRUE(DisassembleRecording(Path()));
  const Recording recording = Read();
  ASSERT_EQ(recording.functions.size(), 1U);
  ASSERT_GT(recording.functions[0].instructions.size(), 10U);
  EXPECT_FALSE(recording.functions[0].instructions[0].opcode.empty());
  EXPECT_EQ(recording.cubins.size(), 1U);
  ASSERT_EQ(recording.samplings.size(), 1U);
  EXPECT_EQ(recording.samplings[0].samples.size(), 2U);
  EXPECT_TRUE(recording.losses.empty());
  EXPECT_TRUE(recording.session.complete);
  const std::string bytes = ReadFile(Path());
  EXPECT_FALSE(DisassembleRecording(Path())) << "nothing is missing any more";
  EXPECT_EQ(ReadFile(Path()), bytes);
}

TEST_F(DisassembleRecordingTest, CodeThatCannotBeReadIsALoss) {
  WriteProgram({1, 2, 3});
  EXPECT_TRUE(DisassembleRecording(Path()));
  const Recording recording = Read();
  ASSERT_EQ(recording.functions.size(), 1U);
  EXPECT_TRUE(recording.functions[0].instructions.empty());
  ASSERT_FALSE(recording.losses.empty());
  EXPECT_EQ(recording.losses.back().kind, "not_disassembled");
  EXPECT_EQ(recording.samplings.size(), 1U);
}

TEST_F(DisassembleRecordingTest, AFileThatIsNoRecordingIsLeftAlone) {
  WriteFile(Path(), "not a recording");
  EXPECT_THROW(DisassembleRecording(Path()), Error);
  EXPECT_EQ(ReadFile(Path()), "not a recording");
}

}  // namespace
}  // namespace fa_profile::load::disassemble_recording_test
