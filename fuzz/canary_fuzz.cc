// The canary: a target with a bug on purpose, which fuzzing and replay must find. When it sings no longer, the fuzz
// pipeline is broken and the silence of all other targets means nothing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.size() >= 5 && text[0] == 't' && text[1] == 'r' && text[2] == 'a' && text[3] == 'c' && text[4] == 'e') {
    std::fputs("the canary's planted bug was reached\n", stderr);
    std::abort();
  }
  return 0;
}
