import Commands
import Foundation

let ending = await Tool.run(Array(CommandLine.arguments.dropFirst()))
exit(ending.rawValue)
