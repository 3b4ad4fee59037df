import Foundation
import HTTPTransfer
import Testing

@Suite("Internet addresses")
struct AddressTests {
    @Test(
        "public addresses are allowed, and so are addresses just outside a special range",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255",
            "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.167.255.255", "192.169.0.0",
            "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255", "17.188.143.1",
            "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2003::1", "2a00:1450:4001::200e",
            "3ffe::1", "3fff:1000::1", "64:ff9b::808:808",
        ]
    )
    func publicAddresses(text: String) throws {
        let address = try #require(parse(text))
        #expect(address.isPublic)
        #expect(AddressPolicy.publicAddressesOnly.allows(address))
    }

    @Test(
        "addresses of private networks and all other special addresses are rejected",
        arguments: [
            "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200",
            "100.127.255.255", "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254",
            "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.192", "192.0.2.1",
            "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1",
            "203.0.113.255", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
            "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:808:808", "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "64:ff9b:0:0:1::808:808", "100::1", "1fff::1", "2001::1",
            "2001:10::1", "2001:1ff::1", "2001:db8::1", "2002:808:808::1", "3fff::1", "3fff:fff::1", "4000::1",
            "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
        ]
    )
    func specialAddresses(text: String) throws {
        let address = try #require(parse(text))
        #expect(!address.isPublic)
        #expect(!AddressPolicy.publicAddressesOnly.allows(address))
        #expect(AddressPolicy.any.allows(address))
    }

    private func parse(_ text: String) -> DestinationAddress? {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return .v4(UInt32(bigEndian: v4.s_addr)) }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        return withUnsafeBytes(of: v6) { bytes in
            let number = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
            return .v6(high: number(0..<8), low: number(8..<16))
        }
    }
}
