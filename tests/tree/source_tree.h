// The project's own sources, for the tests that read them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace plimsoll::tree {

struct SourceFile {
  std::string path;  // from the root of the tree, with '/'
  std::vector<std::string> lines;
};

inline std::vector<SourceFile> read_sources(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<SourceFile> files;
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  for (const auto& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (auto entry = fs::recursive_directory_iterator(root / folder);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename() == "node_modules") entry.disable_recursion_pending();
      const auto extension = entry->path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".c" && extension != ".js")
        continue;
      SourceFile file{fs::relative(entry->path(), root).generic_string(), {}};
      std::ifstream in(entry->path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace plimsoll::tree
