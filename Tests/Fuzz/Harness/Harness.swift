import Glibc

// The functions that libFuzzer's own `main` calls. The environment names the target, for the arguments are libFuzzer's.

/// The target of this run; asked for once.
private let target: FuzzTarget? = getenv("FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) }

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
    guard target == nil else { return 0 }
    print("FUZZ_TARGET is one of:", FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))
    exit(64)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target?.runInTime(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
