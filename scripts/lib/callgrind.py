"""Reads what callgrind has written: the instructions, and whose they are.

One table parts all instructions by kind. The others give each module, type and function of Swift's packages and ours
what it takes itself and what it calls of the libraries for: Swift's, C's, libcurl and libpq. What it calls of other
modules is theirs. Sums of calls alone would tell little: an asynchronous function ends where it waits, and what resumes
it, or another task, looks as if it were called.
"""
import collections
import re
import subprocess

# How the mangled name of a Swift function begins: perhaps with a type that it extends, then the length of a name.
MANGLED = re.compile(r"\$s(S[a-zA-Z]{0,2})?(\d+)")
# Callgrind numbers the functions of a cycle.
CYCLE = re.compile(r"'\d+$")

# Where an instruction was, by the library or the function; the first that fits counts.
OWN = [
    ("libcurl, nghttp2", r"^(libcurl|libnghttp2)\S* "),
    ("libpq", r"^libpq\S* "),
    ("OpenSSL, BoringSSL", r"^(libssl|libcrypto)\S* |BoringSSL"),
    ("malloc and free", r" (_?_?(malloc|free|calloc|realloc|posix_memalign|aligned_alloc)$|_int_|mi_|_mi_|malloc_|"
                        r"tcache_|swift_(slow)?(Alloc|Dealloc)|swift_(alloc|dealloc)Object|swift_slow|unlink_chunk|"
                        r"swift_deallocClass|operator (new|delete)|_swift_(alloc|dealloc)|sysmalloc|alloc_perturb)"),
    ("retain and release", r"[Rr]etain|[Rr]elease|RefCount|swift_isUniquely"),
    ("memcpy, memset, memcmp", r" _?_?(mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|casecmp|chr))"),
    ("hashing", r"[Hh]asher|_hash\(|hash\(into|SipHash|hashValue"),
    ("locks and atomics", r"mutex|swift_once|os_unfair|lll_|pthread_"),
    ("casts, metadata, witnesses", r"swift_(dynamicCast|conformsTo|getGeneric|getAssociated|getWitness|getType|project|"
                                  r"checkMetadata|getForeign|getTuple|getExistential|getOpaque|getSingleton|instantiate)|"
                                  r"[mM]etadata|witness"),
    ("tasks and executors", r"swift_(task|job|continuation|async|executor|distributed|defaultActor)|AsyncTask|"
                            r"TaskGroup|TaskLocal|ActorImpl|swift::.*(Job|Task|Actor)|dispatch|Executor"),
    ("exclusivity checks", r"swift_(begin|end)Access"),
]
# What may go on with another task, so that its callers did not call for what follows.
SWITCHES = re.compile(r" (swift_(task|job|continuation|async|executor)\w*|swift::runJob\w*|\S*runOnAssumedThread.*)$"
                      r"|Continuation|TaskLocal|AsyncStream|AsyncIterator|AsyncSequence|withTask")
# The type that a function belongs to, after what the compiler puts before it.
TYPE = re.compile(r"(?:specialized |static |closure #\d+ in |partial apply for |implicit |protocol witness for |merged "
                  r"|outlined |@objc |isolated )*([A-Z]\w*)")
OURS = re.compile(r"(Fetch\w+|Postgres|EventLoop|fetchd\w*|NIO\w*|Hummingbird\w*|HTTP\w*|Logging|Crypto\w*) ")


def owner(symbol, library):
    """The module of a Swift function, that of the extension which has it included; else the library."""
    if symbol.startswith("$s"):
        start = MANGLED.match(symbol)
        end = start.end() + int(start[2]) if start else 0
        return symbol[start.end():end] if start and (not start[1] or symbol[end:end + 1] == "E") else "Swift"
    return library.rsplit("/", 1)[-1]


class Profile:
    """Instructions of functions in themselves, and of calls with all that they call."""

    def __init__(self, folder):
        self.own = collections.Counter()
        self.calls = collections.Counter()
        for file in sorted(folder.glob("callgrind.out.*")):
            with open(file, encoding="utf-8", errors="replace") as lines:
                self._read(lines)
        self._name()

    def _read(self, lines):
        names = {"ob": {}, "fn": {}}
        library = called_library = function = called = ""
        is_call = False

        def named(kind, text):
            number, _, name = text.rstrip("\n").partition(" ")
            if name:
                names[kind][number] = name
            return names[kind].get(number, number)

        for line in lines:
            if line[0] in "0123456789+-*":
                cost = int(line.split()[1]) if " " in line else 0
                if is_call:
                    self.calls[function, called] += cost
                else:
                    self.own[function] += cost
                is_call = False
            elif line.startswith("fn="):
                function = (library, named("fn", line[3:]))
            elif line.startswith("ob="):
                library = called_library = named("ob", line[3:])
            elif line.startswith("cob="):
                called_library = named("ob", line[4:])
            elif line.startswith("cfn="):
                called = (called_library, named("fn", line[4:]))
                called_library = library
            elif line.startswith("calls="):
                is_call = True

    def _name(self):
        """Gives each function the library or module that it is of, and its name as in the source."""
        functions = sorted({*self.own, *(function for pair in self.calls for function in pair)})
        mangled = [CYCLE.sub("", name) for _, name in functions]
        printed = subprocess.run(["swift", "demangle", "--simplified"], text=True, capture_output=True, check=True,
                                 input="".join(f"{name}\n" for name in mangled)).stdout.splitlines()
        names = {function: f"{owner(symbol, function[0])} {name}"
                 for function, symbol, name in zip(functions, mangled, printed, strict=True)}
        own, calls = collections.Counter(), collections.Counter()
        for function, cost in self.own.items():
            own[names[function]] += cost
        for (caller, called), cost in self.calls.items():
            calls[names[caller], names[called]] += cost
        self.own, self.calls = own, calls

    @property
    def total(self):
        return sum(self.own.values())

    def own_groups(self):
        groups, patterns = collections.Counter(), [(name, re.compile(pattern)) for name, pattern in OWN]
        for function, cost in self.own.items():
            groups[next((name for name, pattern in patterns if pattern.search(function)), "everything else")] += cost
        return groups

    def functions(self):
        """Each function of a Swift module that is not the standard library, with what it calls of the libraries."""
        functions = collections.Counter({name: cost for name, cost in self.own.items() if OURS.match(name)})
        for (caller, called), cost in self.calls.items():
            if OURS.match(caller) and not OURS.match(called) and not SWITCHES.search(called):
                functions[caller] += cost
        return functions

    def callers(self, pattern):
        """Who calls the functions that a pattern fits, and what of their instructions that is."""
        pattern, callers = re.compile(pattern), collections.Counter()
        for (caller, called), cost in self.calls.items():
            if pattern.search(called) and not pattern.search(caller):
                callers[caller] += cost
        return callers


def by_module(functions):
    modules = collections.Counter()
    for name, cost in functions.items():
        modules[name.partition(" ")[0]] += cost
    return modules


def by_type(functions):
    types = collections.Counter()
    for name, cost in functions.items():
        module, _, rest = name.partition(" ")
        start = TYPE.match(rest)
        types[f"{module}.{start[1]}" if start else module] += cost
    return types


def total(folder):
    """The instructions in the files that callgrind has written to a folder."""
    lines = (line for file in folder.glob("callgrind.out.*") for line in open(file, encoding="utf-8", errors="replace"))
    return sum(int(line.split()[1]) for line in lines if line.startswith("totals: "))


def report(folder, count, unit, longest=30):
    """Prints where the instructions went, for each of `count` units."""
    profile = Profile(folder)
    functions = profile.functions()

    def table(title, rows):
        print(f"\n{title:84}{'a ' + unit:>12}{'%':>7}")
        for name, cost in rows:
            print(f"{name[:83]:84}{cost / count:>12,.0f}{100 * cost / profile.total:>7.1f}")

    table("In itself, by kind", profile.own_groups().most_common())
    table("Modules, with what they call of libraries", by_module(functions).most_common(longest))
    table("Types, with what they call of libraries", by_type(functions).most_common(2 * longest))
    table("Functions, with what they call of libraries", functions.most_common(2 * longest))
    table("Functions in themselves", profile.own.most_common(longest))
    print()
