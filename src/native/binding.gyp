{
  "targets": [
    {
      "target_name": "trawl_kernel",
      "sources": [
        "binding.cc",
        "http/input-filter.cc",
        "http/request-filter.cc",
        "kernel/automaton.cc",
        "kernel/digest-binding.cc",
        "kernel/digest.cc",
        "kernel/documents-binding.cc",
        "kernel/documents.cc",
        "kernel/loops-avx2.cc",
        "kernel/loops-avx512.cc",
        "kernel/loops-neon.cc",
        "kernel/loops-swar.cc",
        "kernel/loops.cc",
        "kernel/needle.cc",
        "kernel/pattern-units.cc",
        "kernel/patterns-binding.cc",
        "kernel/patterns.cc",
        "kernel/posting-lists.cc",
        "kernel/postings-binding.cc",
        "kernel/postings.cc",
        "kernel/symbols-binding.cc",
        "kernel/symbols.cc",
        "memory/memory.cc",
        "packs/change-filter.cc",
        "packs/loose-files.cc",
        "packs/pack-file.cc",
        "packs/packs-binding.cc",
        "packs/packs.cc",
        "packs/tree-diff.cc",
        "process/file-guard-binding.cc",
        "process/file-guard.cc",
        "process/heap-limit.cc",
        "process/process.cc",
        "socket/datagram.cc",
        "socket/socket.cc"
      ],
      "include_dirs": [".", "http", "kernel", "memory", "packs", "process", "socket"],
      "libraries": ["-ldeflate"],
      "defines": ["NAPI_VERSION=8"],
      "cflags_cc": ["-std=c++20", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden", "-fno-rtti"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O2", "-fno-exceptions"]
    }
  ]
}
