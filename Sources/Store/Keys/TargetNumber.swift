/// Where a line of the ledger goes, in the eight bytes that the table keeps of it: those that the digits of a
/// subscription's id stand for.
package enum TargetNumber {
    /// A user has one address.
    static let mailbox: Int64 = 0
    /// Nothing was eligible.
    static let nobody: Int64 = -1

    /// Nil for what is no target: nothing in the ledger is of it.
    package static func number(of target: String) -> Int64? {
        switch target {
        case Words.mailbox: return mailbox
        case Words.nobody: return nobody
        default:
            guard target.utf8.count == prefix.utf8.count + 16, target.hasPrefix(prefix) else { return nil }
            let digits = target.utf8.dropFirst(prefix.utf8.count)
            guard digits.allSatisfy(isDigit) else { return nil }
            return UInt64(target.dropFirst(prefix.utf8.count), radix: 16).map(Int64.init(bitPattern:))
        }
    }

    package static func target(of number: Int64) -> String {
        switch number {
        case mailbox: return Words.mailbox
        case nobody: return Words.nobody
        default:
            let digits = String(UInt64(bitPattern: number), radix: 16)
            return prefix + String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    static let prefix = "sub_"

    /// What the two are called that are no device's.
    enum Words {
        static let mailbox = "email"
        static let nobody = "-"
    }
}
