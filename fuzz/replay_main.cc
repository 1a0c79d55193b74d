// Runs a fuzz target without libFuzzer, as a test: over the empty input, over each file of the corpus folder named on
// the command line (a target may have none yet), and over each of these files cut short and with single bits turned.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

// A copy in a heap block of exactly its size, so that AddressSanitizer sees a read past the end.
void run(const Input& input) {
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// At most 32 cuts and 64 turned bits, spread evenly, so that a corpus of any size replays in seconds.
void run_variants(const Input& input) {
  run(input);
  const std::size_t cut_step = std::max<std::size_t>(1, input.size() / 32);
  for (std::size_t size = 0; size < input.size(); size += cut_step) {
    run(Input(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  const std::size_t bits = input.size() * 8;
  const std::size_t bit_step = std::max<std::size_t>(1, bits / 64) | 1;
  for (std::size_t bit = 0; bit < bits; bit += bit_step) {
    Input turned = input;
    turned[bit / 8] = static_cast<std::uint8_t>(turned[bit / 8] ^ (1u << (bit % 8)));
    run(turned);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  run({});
  std::size_t files = 0;
  for (int i = 1; i < argument_count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) continue;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      run_variants(Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
      ++files;
    }
  }
  std::printf("replayed %zu files\n", files);
  return 0;
}
