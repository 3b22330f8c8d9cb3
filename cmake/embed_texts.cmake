# cmake "-DFILES=<file>;..." -DOUTPUT=<file.cpp> -DHEADER=<header.h> -DFUNCTION=<Name> -DNAMESPACE=<a::b> -P embed_texts.cmake
#
# Writes a source file that defines FUNCTION(), declared in HEADER: for each file an EmbeddedText {id, text} whose id is the
# file's name, without ".md". A raw string keeps a text as it is.
set(rows "")
foreach(file ${FILES})
  get_filename_component(id ${file} NAME)
  string(REGEX REPLACE "\\.md$" "" id ${id})
  file(READ ${file} text)
  string(APPEND rows "    {\"${id}\", R\"--(${text})--\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/embed_texts.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

std::span<const EmbeddedText> ${FUNCTION}() {
  static constexpr EmbeddedText kTexts[] = {
${rows}  };
  return kTexts;
}

}  // namespace ${NAMESPACE}
")
