// The page's files as the build embedded them (results/report/page/embed.cmake).
#pragma once

#include <string_view>

namespace plimsoll::page {

extern const std::string_view kTemplate;  // page.html, with @NAME@ places
extern const std::string_view kStyle;     // style.css
extern const std::string_view kScript;    // js/*.js, in order
extern const std::string_view kLibrary;   // uPlot
extern const std::string_view kLibraryStyle;
extern const std::string_view kLibraryLicence;  // its licence asks to be carried along

}  // namespace plimsoll::page
