# cmake -P corpus_embed.cmake LIST OUTPUT: writes the C++ file that holds the built-in corpus (data/corpus.h).
# LIST names the sources, one a line. Every byte is written as an escape, so that any content survives.

file(STRINGS ${CMAKE_ARGV3} files)
set(literals "")
foreach(file ${files})
  string(HEX "// ${file}\n\n" title)
  file(READ ${file} text HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" escaped "${title}${text}0a")
  string(APPEND literals "\n    \"${escaped}\"")
endforeach()

file(WRITE ${CMAKE_ARGV4} "#include \"data/corpus.h\"

namespace reel::data {

std::string_view builtin_corpus() {
  static constexpr char text[] =${literals};
  return {text, sizeof(text) - 1};
}

}  // namespace reel::data
")
