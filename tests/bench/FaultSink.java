// A sink connector with a bug that a record finds, for beside_connect.py: the value `crash` ends
// the process, `hang` never returns. Every other record becomes a line of `file`. Sluice's fault
// sink does the same on the same words.
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

public class FaultSink extends SinkConnector {
  private static final int SEGMENTATION_FAULT = 139; // what a shell makes of SIGSEGV

  private Map<String, String> properties;

  @Override
  public void start(Map<String, String> given) {
    properties = given;
  }

  @Override
  public Class<? extends Task> taskClass() {
    return FaultTask.class;
  }

  @Override
  public List<Map<String, String>> taskConfigs(int most) {
    return List.of(properties);
  }

  @Override
  public void stop() {}

  @Override
  public ConfigDef config() {
    return new ConfigDef()
        .define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "gets the lines");
  }

  @Override
  public String version() {
    return "1";
  }

  public static class FaultTask extends SinkTask {
    private PrintStream lines;

    @Override
    public void start(Map<String, String> properties) {
      try {
        lines = new PrintStream(new FileOutputStream(properties.get("file"), true), true);
      } catch (IOException wrong) {
        throw new ConnectException(wrong);
      }
    }

    @Override
    public void put(Collection<SinkRecord> records) {
      for (SinkRecord record : records) {
        if ("crash".equals(record.value())) {
          Runtime.getRuntime().halt(SEGMENTATION_FAULT);
        }
        while ("hang".equals(record.value())) {
          try {
            Thread.sleep(Long.MAX_VALUE);
          } catch (InterruptedException ignored) {
            // As a call into a library that does not know of it.
          }
        }
        lines.println(record.value());
      }
    }

    @Override
    public void stop() {
      lines.close();
    }

    @Override
    public String version() {
      return "1";
    }
  }
}
