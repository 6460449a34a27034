# The report page: uPlot comes from npm, pinned by the lock file, into the build folder; then the
# page's files become one C++ file. Gives page_source.
find_program(NPM npm)
if(NOT NPM)
  message(FATAL_ERROR "npm is needed for the report page's plot library: "
                      "install it with `apt-get install npm`")
endif()

set(page ${CMAKE_CURRENT_LIST_DIR})
set(page_build ${CMAKE_BINARY_DIR}/report_page)
set(page_library ${page_build}/node_modules/uplot)
set(page_source ${page_build}/page_assets.cpp)
file(GLOB page_files CONFIGURE_DEPENDS ${page}/*.html ${page}/*.css ${page}/js/*.js)
set(npm_files ${page}/package.json ${page}/package-lock.json ${page}/.npmrc)

add_custom_command(
  OUTPUT ${page_build}/installed
  COMMAND ${CMAKE_COMMAND} -E make_directory ${page_build}
  COMMAND ${CMAKE_COMMAND} -E copy ${npm_files} ${page_build}
  COMMAND ${CMAKE_COMMAND} -E chdir ${page_build}
          ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${page_build}/installed
  DEPENDS ${npm_files}
  COMMENT "Getting the report page's plot library")

add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_source} -DPAGE=${page} -DLIBRARY=${page_library}
          -P ${page}/embed.cmake
  DEPENDS ${page_build}/installed ${page_files} ${page}/embed.cmake
  COMMENT "Embedding the report page")
