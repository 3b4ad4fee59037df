/// The release of this program.
package enum BuildInfo {
    package static let version = "0.1.0"
}
