# Prints a callgrind profile's instructions and its allocations.
function name_of(text,  number) {
    number = text
    sub(/\).*/, "", number)
    if (match(text, /\) /)) names[number] = substr(text, RSTART + 2)
    return names[number]
}
/^fn=/ { name_of(substr($0, 4)) }
/^cfn=/ { callee = name_of(substr($0, 5)) }
/^calls=/ { if (callee ~ /^(malloc|calloc|realloc|aligned_alloc|posix_memalign)$/) allocations += substr($1, 7) }
/^(summary|totals):/ { instructions = $2 }
END { printf "%.0f %.0f\n", instructions, allocations }
