import Foundation

extension Double {
    /// Returns the number rounded to `digits` digits after the decimal point, all of them shown.
    package func text(digits: Int) -> String {
        String(format: "%.\(digits)f", self)
    }
}
