# cmake "-DFILES=<file.md>;..." -DOUTPUT=<file.cpp> -DHEADER=<header.h> -DFUNCTION=<Name> -P embed_texts.cmake
#
# Writes a source file that defines FUNCTION(), declared in HEADER: for each file an EmbeddedText {id, text} whose id is the
# file's name without ".md". A raw string keeps a text as it is.
set(rows "")
foreach(file ${FILES})
  get_filename_component(id ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "    {\"${id}\", R\"--(${text})--\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/embed_texts.cmake.
#include \"${HEADER}\"

namespace fa_profile::analyze {

std::span<const EmbeddedText> ${FUNCTION}() {
  static constexpr EmbeddedText kTexts[] = {
${rows}  };
  return kTexts;
}

}  // namespace fa_profile::analyze
")
