{
  "targets": [
    {
      "target_name": "trawl_kernel",
      "sources": [
        "binding.cc",
        "datagram.cc",
        "file-guard.cc",
        "file-guard-binding.cc",
        "heap-limit.cc",
        "loops.cc",
        "loops-avx2.cc",
        "loops-neon.cc",
        "loops-swar.cc",
        "needle.cc",
        "pack-file.cc",
        "packs.cc",
        "packs-binding.cc",
        "postings.cc",
        "process.cc",
        "socket.cc",
        "tree-diff.cc"
      ],
      "libraries": ["-ldeflate"],
      "defines": ["NAPI_VERSION=8"],
      "cflags_cc": ["-std=c++20", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden", "-fno-rtti"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O2", "-fno-exceptions"]
    }
  ]
}
