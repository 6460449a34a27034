# Writes a C++ source that holds text files, so that the binary needs none of them beside it:
#   cmake -DOUTPUT=x.cpp -DROOT=dir -DFILES=a.sql|b/c.sql -DFUNCTION=embedded_schemas -P this
# FUNCTION is declared by its user as
#   std::span<const std::pair<std::string_view, std::string_view>> plimsoll::FUNCTION();
string(REPLACE "|" ";" FILES "${FILES}")
set(rows "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  string(APPEND rows "    {\"${file}\", R\"~~text(${text})~~text\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new
"#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace plimsoll {

using EmbeddedFile = std::pair<std::string_view, std::string_view>;

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr auto kFiles = std::to_array<EmbeddedFile>({
${rows}  });
  return kFiles;
}

}  // namespace plimsoll
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
