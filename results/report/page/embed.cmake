# Writes OUTPUT, a C++ file that holds the page's files as raw strings.
# cmake -DOUTPUT=… -DPAGE=results/report/page -DLIBRARY=…/node_modules/uplot -P embed.cmake
cmake_minimum_required(VERSION 3.25)

# A string literal may not be of any length, so a text is cut into pieces that the compiler joins.
function(add_text name text)
  if(text MATCHES "[)]PAGE\"")
    message(FATAL_ERROR "${name} holds )PAGE\", which would end its raw string")
  endif()
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 piece)
    string(APPEND literals "R\"PAGE(${piece})PAGE\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(code "${code}const std::string_view ${name} =\n${literals};\n\n" PARENT_SCOPE)
endfunction()

function(read_script path result)
  file(READ "${path}" text)
  if(text MATCHES "</script")
    message(FATAL_ERROR "${path} holds </script, which would end the page's script")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(code "#include \"results/report/page_assets.h\"\n\nnamespace plimsoll::page {\n\n")
file(READ "${PAGE}/page.html" template)
add_text(kTemplate "${template}")
file(READ "${PAGE}/style.css" style)
add_text(kStyle "${style}")

set(script "")
foreach(name format dom charts minute raw percentiles facts main)
  read_script("${PAGE}/js/${name}.js" text)
  string(APPEND script "${text}\n")
endforeach()
add_text(kScript "${script}")

# The library's first comment is an address; the licence travels in full beside it.
read_script("${LIBRARY}/dist/uPlot.iife.min.js" library)
string(REGEX REPLACE "^/\\*![^\n]*\\*/\n" "" library "${library}")
add_text(kLibrary "${library}")
file(READ "${LIBRARY}/dist/uPlot.min.css" library_style)
add_text(kLibraryStyle "${library_style}")
file(READ "${LIBRARY}/LICENSE" licence)
add_text(kLibraryLicence "uPlot\n${licence}")

string(APPEND code "}  // namespace plimsoll::page\n")
file(WRITE "${OUTPUT}" "${code}")
