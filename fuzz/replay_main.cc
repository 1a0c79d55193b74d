// Runs a fuzz target without libFuzzer, as a test: over the empty input, over each file of the corpus folder named on
// the command line (a target may have none yet), over each of these files cut short and with single bits turned, and
// over some thousand mutations of them, which are others for each commit (TAILRACE_SIM_SEED; TAILRACE_FUZZ_RUNS says
// how many). The seed is printed: the same one makes the same inputs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
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

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// A few changes of the kinds that find something: bytes, numbers that are nearly something, pieces of another input.
Input mutated(Input input, const std::vector<Input>& corpus, std::mt19937_64& random) {
  static constexpr std::uint8_t kTelling[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
    const std::size_t at = below(input.size() + 1);
    const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(1 + below(8), input.size() - at);
    switch (below(5)) {
      case 0:
        for (std::size_t i = 0; i < length; ++i) input[at + i] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        for (std::size_t i = 0; i < length; ++i) input[at + i] = kTelling[below(std::size(kTelling))];
        break;
      case 2:
        input.erase(here, here + static_cast<std::ptrdiff_t>(length));
        break;
      case 3:
        input.insert(here, 1 + below(8), static_cast<std::uint8_t>(random()));
        break;
      default: {
        const Input& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size() + 1);
        const std::size_t size = std::min(below(64), other.size() - from);
        const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
        input.insert(here, first, first + static_cast<std::ptrdiff_t>(size));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argument_count, char** arguments) {
  run({});
  std::vector<Input> corpus;
  for (int i = 1; i < argument_count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) continue;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      run_variants(corpus.back());
    }
  }
  std::printf("replayed %zu files\n", corpus.size());
  if (corpus.empty()) return 0;
  const std::uint64_t seed = number_from("TAILRACE_SIM_SEED", 1);
  const std::uint64_t runs = number_from("TAILRACE_FUZZ_RUNS", 10'000);
  std::printf("%llu mutations, TAILRACE_SIM_SEED=%llu\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < runs; ++i) run(mutated(corpus[random() % corpus.size()], corpus, random));
  return 0;
}
