/// Converts targets of deliveries to and from the ledger's eight bytes, which are the hex digits of a subscription's
/// id.
package enum TargetNumber {
    /// The number for mail: a user has one address.
    static let mailbox: Int64 = 0
    /// The number for a delivery without a destination.
    static let nobody: Int64 = -1

    /// Returns the number of a target; `nil` for a text that is not a target and therefore not in the ledger.
    package static func number(of target: String) -> Int64? {
        switch target {
        case Words.mailbox: return mailbox
        case Words.nobody: return nobody
        default:
            guard target.utf8.count == 20, target.utf8.starts(with: prefix.utf8) else { return nil }
            return target.withBytes { digits(UnsafeBufferPointer(rebasing: $0[4...])) }
        }
    }

    private static func digits(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var bits: UInt64 = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): bits = bits << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): bits = bits << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return Int64(bitPattern: bits)
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

    static let prefix = "sub_"

    /// The names of the two targets that are not devices.
    enum Words {
        static let mailbox = "email"
        static let nobody = "-"
    }
}
