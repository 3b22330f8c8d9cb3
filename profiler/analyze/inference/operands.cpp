#include "inference/operands.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "opcode.h"

namespace fa_profile::analyze {
namespace {

struct FormRow {
  Form form;
  std::string_view opcodes;  // without modifiers, separated by spaces
};

constexpr FormRow kForms[] = {
    {Form::kGlobalLoad, "LDG LD"},
    {Form::kAsyncCopy, "LDGSTS"},
    {Form::kBulkLoad, "UTMALDG UBLKCP"},
    {Form::kGlobalStore, "STG ST RED REDG UTMASTG UTMAREDG UBLKRED"},
    {Form::kSharedLoad, "LDS LDSM"},
    {Form::kSharedStore, "STS STSM"},
    {Form::kSharedAtomic, "ATOMS"},
    {Form::kLocalLoad, "LDL"},
    {Form::kLocalStore, "STL"},
    {Form::kMatrix, "HMMA IMMA QMMA DMMA BMMA OMMA"},
    {Form::kWarpgroupMatrix, "HGMMA IGMMA QGMMA BGMMA"},
    {Form::kTensorMemory, "UTCHMMA UTCIMMA UTCQMMA UTCOMMA"},
    {Form::kMultiply, "FMUL FFMA FMUL2 FFMA2 FMUL32I FFMA32I HMUL2 HFMA2 HMUL2_32I HFMA2_32I HFMA2_BF16_V2 DMUL DFMA"},
    {Form::kAdd, "FADD FADD2 FADD32I HADD2 HADD2_32I HADD2_BF16_V2 DADD"},
    {Form::kMaximum, "FMNMX FMNMX3 HMNMX2 VHMNMX DMNMX"},
    {Form::kMove, "MOV MOV32I UMOV SEL USEL FSEL PRMT UPRMT SHFL MOVM R2UR F2F F2FP"},
    {Form::kAddress,
     "LEA ULEA IADD IADD3 IADD32I VIADD UIADD3 UIADD IADD64 UIMAD S2R S2UR CS2R LDC LDCU ULDC I2F I2FP I2I ISCADD USHF "
     "VIMNMX UVIMNMX IMNMX IABS"},
    {Form::kBarrier, "BAR"},
    {Form::kSync,
     "SYNCS DEPBAR LDGDEPBAR MEMBAR FENCE NANOSLEEP ERRBAR ARRIVES UTMACMDFLUSH CCTL CCTLL CCTLT ACQBULK UTCBAR "
     "UCGABAR_ARV UCGABAR_WAIT CGABAR_ARV CGABAR_WAIT CGABAR_GET CGABAR_SET LDTDEPBAR"},
    {Form::kWarpgroup, "WARPGROUP WARPGROUPSET"},
    {Form::kBranch, "BRA BRX BRXU JMP JMX JMXU"},
    {Form::kConvergence, "BSSY BSYNC WARPSYNC NOP YIELD BREAK BPT PMTRIG USETMAXREG PREEXIT"},
    {Form::kExit, "EXIT RET KILL"},
    {Form::kCall, "CALL"},
};

// Instructions that only read their first operand.
constexpr std::string_view kDefineNothing =
    " BAR BRA BRX BRXU JMP JMX JMXU CALL EXIT RET KILL BSSY BSYNC WARPSYNC NOP YIELD BREAK BPT PMTRIG USETMAXREG "
    "PREEXIT "
    "DEPBAR LDGDEPBAR MEMBAR FENCE NANOSLEEP ERRBAR ARRIVES UTMACMDFLUSH CCTL CCTLL CCTLT ACQBULK WARPGROUP "
    "WARPGROUPSET "
    "ST STG STS STL STSM STAS RED REDG REDAS SUST SURED LDGSTS UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UBLKCP UBLKPF "
    "UBLKRED UTCBAR UCGABAR_ARV UCGABAR_WAIT CGABAR_ARV CGABAR_WAIT LDTDEPBAR UTCHMMA UTCIMMA UTCQMMA UTCOMMA ";

bool Contains(std::string_view names, std::string_view name) {
  for (std::size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

std::string_view BaseOpcode(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

Form FormOf(std::string_view opcode) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Form> result;
    for (const FormRow& row : kForms) {
      for (std::string_view rest = row.opcodes; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        result.emplace(rest.substr(0, end), row.form);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return result;
  }();
  const std::string_view base = BaseOpcode(opcode);
  if (base == "MUFU") {
    if (HasModifier(opcode, "EX2")) return Form::kExponential;
    return HasModifier(opcode, "RCP") ? Form::kReciprocal : Form::kOther;
  }
  // A product of 64 bits, or the upper half of one, is an address or a quotient; any other IMAD may be a move.
  if (base == "IMAD") {
    const bool wide = HasModifier(opcode, "WIDE") || HasModifier(opcode, "HI") || HasModifier(opcode, "X");
    return wide ? Form::kAddress : HasModifier(opcode, "MOV") ? Form::kMove : Form::kOther;
  }
  const auto found = by_name.find(base);
  if (found != by_name.end()) return found->second;
  return base.ends_with("MMA") ? Form::kUnknownMatrix : Form::kOther;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Registers of 32 bits that the opcode's data take.
int Width(std::string_view opcode) {
  const std::string_view base = BaseOpcode(opcode);
  if (base == "LDSM" || base == "STSM") {
    const char last = opcode.empty() ? '1' : opcode.back();
    return last == '2' || last == '4' ? last - '0' : 1;
  }
  if (HasModifier(opcode, "128")) return 4;
  if (HasModifier(opcode, "64") || HasModifier(opcode, "WIDE")) return 2;
  if (base == "CS2R") return HasModifier(opcode, "32") ? 1 : 2;
  if (Contains("DFMA DADD DMUL DMNMX FADD2 FFMA2 FMUL2 IADD64", base)) return 2;
  return 1;
}

/// Whether sources have the width of the result.
bool WideSources(std::string_view opcode) {
  const std::string_view base = BaseOpcode(opcode);
  if (Contains("DFMA DADD DMUL DMNMX DSETP FADD2 FFMA2 FMUL2 IADD64", base)) return true;
  return HasModifier(opcode, "64") && Contains("IADD IADD3 UIADD3 MOV UMOV", base);
}

class Reader {
 public:
  explicit Reader(const Instruction& instruction)
      : opcode_(instruction.opcode), base_(BaseOpcode(opcode_)), texts_(SplitOperands(instruction.operands)) {
    result_.form = FormOf(opcode_);
    ReadGuard(instruction.predicate);
    if (result_.form == Form::kMatrix) {
      ReadMatrix();
    } else if (result_.form == Form::kWarpgroupMatrix) {
      ReadWarpgroupMatrix();
    } else if (Contains("UTMALDG UTMASTG UTMAREDG UBLKCP UBLKRED", base_)) {
      ReadBulkCopy();
    } else {
      ReadSources(ReadDestinations());
    }
    const auto only_predicates = [](Slot slot) { return IsPredicate(slot); };
    if (result_.form == Form::kOther && !result_.definitions.empty() &&
        std::ranges::all_of(result_.definitions, only_predicates)) {
      result_.form = Form::kCompare;
    }
  }

  Operands Take() { return std::move(result_); }

 private:
  void Define(std::string_view text, int count = 1) {
    const auto slot = ReadSlot(text);
    if (!slot) return;
    for (int i = 0; i < count && SameFile(*slot, *slot + i); ++i) {
      result_.definitions.push_back(static_cast<Slot>(*slot + i));
    }
  }

  void AddUse(std::string_view text, Role role, int count = 1) {
    while (!text.empty() &&
           (text.front() == '-' || text.front() == '|' || text.front() == '~' || text.front() == '!')) {
      text.remove_prefix(1);
    }
    const auto slot = ReadSlot(text);
    if (!slot) return;
    for (int i = 0; i < count && SameFile(*slot, *slot + i); ++i) {
      result_.uses.push_back({static_cast<Slot>(*slot + i), role});
    }
  }

  static bool SameFile(int first, int slot) {
    const auto file = [](int s) {
      return s < kFirstUniform ? 0 : s < kFirstPredicate ? 1 : s < kFirstUniformPredicate ? 2 : s < kSlots ? 3 : 4;
    };
    return file(first) == file(slot);
  }

  void ReadGuard(std::string_view predicate) {
    if (!predicate.starts_with('@')) return;
    predicate.remove_prefix(1);
    const bool negated = predicate.starts_with('!');
    if (negated) predicate.remove_prefix(1);
    const auto slot = ReadSlot(predicate);
    if (slot && IsPredicate(*slot)) {
      result_.guard = Guard{*slot, negated};
      result_.uses.push_back({*slot, Role::kGuard});
    } else if (predicate == "PT" || predicate == "UPT") {
      result_.never = negated;
    }
  }

  std::string_view Text(std::size_t i) const { return i < texts_.size() ? texts_[i] : std::string_view(); }

  // Fragments of one thread: PTX ISA, "Matrix fragments".
  void ReadMatrix() {
    struct Shape {
      int a, b, c;
    };
    Shape shape{2, 1, 4};
    const bool f32 = HasModifier(opcode_, "F32") || base_ != "HMMA";
    if (HasModifier(opcode_, "16816") || HasModifier(opcode_, "16832")) shape = {4, 2, 4};
    if (HasModifier(opcode_, "TF32")) shape = HasModifier(opcode_, "1684") ? Shape{2, 1, 4} : Shape{4, 2, 4};
    if (base_ == "IMMA" && HasModifier(opcode_, "16816")) shape = {2, 1, 4};
    if (base_ == "DMMA") shape = {2, 2, 4};
    if (!f32) shape.c = 2;
    Define(Text(0), shape.c);
    AddUse(Text(1), Role::kA, shape.a);
    AddUse(Text(2), Role::kB, shape.b);
    AddUse(Text(3), Role::kC, shape.c);
    result_.sources = 3;
  }

  // "R24, gdesc[UR8], R24, !UPT, gsb0" has both factors in shared memory; "R24, R8, gdesc[UR8], R24" the first in
  // registers: four of fp16, of a tile of 64 x 16. The accumulator of 64xN has N/2 registers in fp32, N/4 in fp16.
  void ReadWarpgroupMatrix() {
    const std::size_t m = opcode_.find("64x");
    int n = 0;
    if (m != std::string_view::npos) {
      const char* const begin = opcode_.data() + m + 3;
      (void)std::from_chars(begin, opcode_.data() + opcode_.size(), n);
    }
    n = std::clamp(n, 8, 256);
    const int c = HasModifier(opcode_, "F32") || base_ != "HGMMA" ? n / 2 : n / 4;
    std::size_t next = 1;
    Define(Text(0), c);
    if (!Text(next).starts_with("gdesc")) AddUse(Text(next++), Role::kA, 4);
    if (const std::size_t open = Text(next).find('['); open != std::string_view::npos) {
      AddUse(Text(next).substr(open + 1), Role::kAddress, 4);
    }
    AddUse(Text(next + 1), Role::kC, c);
    result_.sources = next == 2 ? 3 : 2;
  }

  // The first address holds coordinates in up to six registers.
  void ReadBulkCopy() {
    for (std::size_t i = 0; i < texts_.size(); ++i) AddAddress(texts_[i], i == 0 ? 6 : 2);
  }

  /// Every register in the text.
  void AddAddress(std::string_view text, int count = 1) {
    for (std::size_t i = 0; i < text.size();) {
      std::size_t length = 0;
      const bool begins =
          i == 0 || text[i - 1] == '[' || text[i - 1] == '+' || text[i - 1] == '-' || text[i - 1] == '!';
      if (!begins || !ReadSlot(text.substr(i), &length)) {
        ++i;
        continue;
      }
      const bool wide = text.substr(i + length).starts_with(".64");
      AddUse(text.substr(i, length), Role::kAddress, wide ? std::max(count, 2) : count);
      i += length;
    }
  }

  static bool IsPredicateText(std::string_view text) {
    if (text.starts_with('U')) text.remove_prefix(1);
    return text.size() == 2 && text[0] == 'P' && (IsDigit(text[1]) || text[1] == 'T');
  }

  static bool IsRegisterText(std::string_view text) {
    if (text.starts_with('U')) text.remove_prefix(1);
    return text.size() >= 2 && text[0] == 'R' && (IsDigit(text[1]) || text[1] == 'Z');
  }

  void DefineAllPredicates() {
    for (Slot slot = kFirstPredicate; slot < kFirstPredicate + 7; ++slot) result_.definitions.push_back(slot);
  }

  /// Says how many operands are destinations.
  std::size_t ReadDestinations() {
    const std::string_view first = Text(0);
    if (first.empty() || first.starts_with('[') || first.starts_with("desc") || Contains(kDefineNothing, base_))
      return 0;
    if (base_ == "SYNCS" && !IsPredicateText(first)) return 0;
    if (first == "PR") {
      DefineAllPredicates();
      return 1;
    }
    if (IsPredicateText(first)) {
      Define(first);
      const std::string_view second = Text(1);
      const bool two = base_.find("SETP") != std::string_view::npos || base_ == "PLOP3" || base_ == "UPLOP3";
      if (two && IsPredicateText(second)) {
        Define(second);
        return 2;
      }
      constexpr std::string_view kPredicateFirst =
          "SHFL LOP3 ULOP3 ATOM ATOMG ATOMS R2UR ELECT MATCH IADD3 UIADD3 LEA ULEA VOTE VOTEU";
      if (Contains(kPredicateFirst, base_) && IsRegisterText(second)) {
        Define(second);
        return 2;
      }
      return 1;
    }
    if (!IsRegisterText(first)) return 0;
    Define(first, Width(opcode_));
    std::size_t count = 1;
    constexpr std::string_view kCarries = "IADD3 UIADD3 LEA ULEA IMAD UIMAD VIADD SHF USHF";
    while (Contains(kCarries, base_) && count + 1 < texts_.size() && IsPredicateText(Text(count)))
      Define(Text(count++));
    return count;
  }

  void ReadSources(std::size_t first) {
    const bool is_store = Contains("ST STG STS STL STSM STAS RED REDG", base_);
    const bool wide_sources = WideSources(opcode_);
    const int width = Width(opcode_);
    int sources = 0;
    for (std::size_t i = first; i < texts_.size(); ++i) {
      const std::string_view text = texts_[i];
      const bool is_constant = text.find("c[") != std::string_view::npos || text.find("cx[") != std::string_view::npos;
      std::string_view plain = text;
      if (plain.starts_with('!')) plain.remove_prefix(1);
      if (is_constant && !text.starts_with("desc")) {
        AddAddress(text);
        ++sources;
      } else if (text.find('[') != std::string_view::npos) {
        AddAddress(text);
      } else if (IsPredicateText(plain)) {
        AddUse(plain, Role::kSelect);
      } else if (plain == "PR") {
        for (Slot slot = kFirstPredicate; slot < kFirstPredicate + 7; ++slot)
          result_.uses.push_back({slot, Role::kSelect});
      } else {
        const bool wide = wide_sources || text.find(".64") != std::string_view::npos ||
                          (sources == 2 && HasModifier(opcode_, "WIDE"));
        AddUse(text, static_cast<Role>(std::min(sources, 2)), is_store ? width : wide ? 2 : 1);
        ++sources;
      }
    }
    result_.sources = sources;
  }

  std::string_view opcode_;
  std::string_view base_;
  std::vector<std::string_view> texts_;
  Operands result_;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Takes one operand without a comma apart: "R68[R92+UR6]", "desc[UR24][R2.64][R0+0x600]".
void SplitGlued(std::string_view text, std::vector<std::string_view>& parts) {
  text = Trimmed(text);
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos) {
      parts.push_back(text);
      return;
    }
    std::string_view name = text.substr(0, open);
    while (!name.empty() && (name.front() == '-' || name.front() == '|' || name.front() == '!')) name.remove_prefix(1);
    const bool is_memory = !name.empty() && name.front() >= 'a' && name.front() <= 'z';
    if (!name.empty() && !is_memory) {  // a register or predicate before an address
      parts.push_back(Trimmed(text.substr(0, open)));
      text.remove_prefix(open);
      continue;
    }
    int groups = is_memory && name != "gdesc" ? 2 : 1;
    std::size_t end = open;
    while (groups-- > 0 && end < text.size() && text[end] == '[') {
      const std::size_t close = text.find(']', end);
      end = close == std::string_view::npos ? text.size() : close + 1;
    }
    if (end < text.size() && text[end] != '[') end = text.size();  // "|c[0x0][0x28]|", ".U8"
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

Operands ReadOperands(const Instruction& instruction) { return Reader(instruction).Take(); }

std::vector<std::string_view> SplitOperands(std::string_view operands) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= operands.size(); ++i) {
    const char c = i < operands.size() ? operands[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') depth = std::max(depth - 1, 0);
    if (c != ',' || (depth > 0 && i < operands.size())) continue;
    SplitGlued(operands.substr(begin, i - begin), parts);
    begin = i + 1;
  }
  for (std::string_view& part : parts) {
    constexpr std::string_view kReuse = ".reuse";
    if (part.ends_with(kReuse)) part.remove_suffix(kReuse.size());
  }
  return parts;
}

std::optional<Slot> ReadSlot(std::string_view text, std::size_t* length) {
  const std::size_t uniform = text.starts_with('U') ? 1 : 0;
  if (text.size() < uniform + 2) return std::nullopt;
  const char file = text[uniform];
  if ((file != 'R' && file != 'P') || !IsDigit(text[uniform + 1])) return std::nullopt;
  unsigned number = 0;
  const char* const begin = text.data() + uniform + 1;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc{} || number > (file == 'R' ? 255U : 7U)) return std::nullopt;
  if (length != nullptr) *length = static_cast<std::size_t>(end - text.data());
  const unsigned first =
      file == 'R' ? (uniform != 0 ? kFirstUniform : 0U) : (uniform != 0 ? kFirstUniformPredicate : kFirstPredicate);
  return static_cast<Slot>(first + number);
}

std::string_view SharedAddress(const Instruction& instruction) {
  std::string_view address;
  for (const std::string_view text : SplitOperands(instruction.operands)) {
    if (!text.starts_with('[')) continue;
    // Of LDGSTS before sm_90 both operands are in brackets; the global one has 64 bits.
    if (text.find(".64") == std::string_view::npos) return text;
    if (address.empty()) address = text;
  }
  return address;
}

std::optional<double> MultiplyAdds(const Instruction& instruction, Form form) {
  constexpr double kThreads = 32.0;
  if (form == Form::kMatrix || form == Form::kWarpgroupMatrix || form == Form::kTensorMemory) {
    const auto flops = TensorFlops(instruction.opcode);
    if (!flops) return std::nullopt;
    return *flops / 2.0;
  }
  if (form != Form::kMultiply) return 0.0;
  const std::string_view base = BaseOpcode(instruction.opcode);
  const bool packed = base.starts_with('H') || base == "FFMA2" || base == "FMUL2";
  return packed ? 2.0 * kThreads : kThreads;
}

}  // namespace fa_profile::analyze
